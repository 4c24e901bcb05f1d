! modules.f90 - a module procedure, an internal procedure, and an external
! procedure. test-languages compiles it, and looks at it while it waits.
module mesh
contains
    recursive subroutine exchange(depth)
        integer, intent(in) :: depth
        call inner
    contains
        subroutine inner
            if (depth > 0) call wait_long
        end subroutine
    end subroutine
end module

subroutine wait_long
    call sleep(100000)
end subroutine

program waits
    use mesh
    call exchange(1)
end program
