// plumbing.cc - C++ functions that call each other through the standard
// library. test-languages compiles it, and looks at it while it waits.
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

namespace solver
{
template <typename T> class Mesh
{
    std::map<std::string, std::vector<T>> cells;

  public:
    __attribute__((noinline)) void exchange(const std::vector<T> &halo)
    {
        for (;;)
            pause();
        cells["halo"] = halo;
    }
};

template <typename T>
__attribute__((noinline)) void timestep(Mesh<std::map<std::string, T>> &mesh)
{
    std::function<void(int)> step = [&](int) { mesh.exchange({}); };
    std::function<void()> twice = std::bind(step, 2);

    twice();
}
} // namespace solver

int main()
{
    solver::Mesh<std::map<std::string, double>> mesh;

    solver::timestep<double>(mesh);
}
