# shellcheck shell=bash
# What a machine must have before Python can take over. Sourced by ./run; every problem is told, all at once.

python= # set by find_python
# problem WHAT WHY DO: remember one thing that is missing, so that all are told at once.
problems=
problem() { problems+="  * $1"$'\n'"    why it is needed: $2"$'\n'"    what to do: $3"$'\n'; }

find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$name
            return
        fi
    done
    problem "Python 3.11 or newer" "everything here is Python" \
        "Debian 12 or Ubuntu 24.04: apt install python3 python3-venv; older: install Python from python.org or with uv"
}

check_sandbox_machine() {
    if [ "$(uname -s)" != Linux ]; then
        problem "Linux (this is $(uname -s))" "simulated nodes are Linux namespaces that boot systemd" \
            "use a Debian 12 or Ubuntu 24.04 machine or VM; \`./run tests unit\` works here too"
        return
    fi
    [ "$(uname -m)" = x86_64 ] || problem "an x86_64 machine (this is $(uname -m))" \
        "npm ships Microsoft's AzCopy for x86_64 only" "use an x86_64 machine or VM"
    command -v apt-get >/dev/null || problem "apt-get" \
        "the node image is a Debian made from the machine's own apt sources" "use Debian 12 or Ubuntu 24.04"
    [ -c /dev/fuse ] || problem "/dev/fuse" "nodes mount their training data with FUSE" \
        "modprobe fuse; in a container: start it with --device /dev/fuse"
    [ -c /dev/loop-control ] || problem "/dev/loop-control" "the disks of nodes are loop devices" \
        "modprobe loop; in a container: start it with --privileged"
    if [ "$(id -u)" != 0 ]; then
        problem "root" "namespaces, loop devices and mounts of simulated nodes need it" \
            "run it as root (sudo ./run …), or on a machine where you may; \`./run tests unit\` needs no root"
    elif ! unshare --mount --net --pid --fork true 2>/dev/null; then
        problem "the right to make namespaces" "a sandbox is one PID, mount and network namespace" \
            "in a container: start it with --privileged"
    fi
}
