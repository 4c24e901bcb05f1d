mod mesh { pub struct Cell<T>(pub T); pub trait Step { fn step(&self); }
 impl<T: Copy> Step for Cell<T> { #[inline(never)] fn step(&self) { std::thread::sleep(std::time::Duration::from_secs(1000)); } } }
use mesh::Step;
#[inline(never)] fn refine<T: Step>(c: T) { c.step(); c.step(); }
fn main() { refine(mesh::Cell(3)); }
