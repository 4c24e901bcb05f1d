# shellcheck shell=sh
# local-job.sh - for tests that source it: a job of processes on this host.
# shellcheck source=test/stat/look.sh
. "${SOURCE:?run by make check}/test/stat/look.sh"
COLUMNS=160
export COLUMNS
unset SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID SLURM_STEP_ID PMI_RANK PMIX_RANK \
    RANK WORLD_SIZE OMPI_COMM_WORLD_RANK || :
job=

finish() {
    end_job
    end_look
}
end_job() {
    exec 9>&-
    [ -z "$job" ] || wait "$job" || :
    job=
}

# start_job COUNT - run standard input in "$work" as a job script that starts
# COUNT processes; wait until each waits or has ended. end_job ends the job.
start_job() {
    cat >"$work/script"
    rm -f "$work/in" "$work/started"
    mkfifo "$work/in"
    (cd "$work" && exec sh ./script 3<in 8>&- 9>&-) >"$work/started" &
    job=$!
    exec 9>"$work/in"
    what="a job"
    await '^[0-9]+$' "$work/started" "$1" || fail "$what: it does not start"
    while read -r pid; do
        while grep -Eqs "^State:[[:space:]][^SZ]" "/proc/$pid/status"; do
            sleep 0.05
        done
    done <"$work/started"
}

