! modules.f90 - a procedure of a module, one inside another, and an external
! one. test-languages compiles it, and has it looked at while it waits.
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
