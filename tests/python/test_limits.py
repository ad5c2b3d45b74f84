"""Full disks and little memory, made by mounts and control groups: the tests say in their names what must be allowed."""
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import BUILD, clean_environment

CLI = os.environ.get("WP_CLI", str(BUILD / "wellposed"))
WORKER = str(pathlib.Path(CLI).with_name("wp_record_worker"))


def in_small_file_system(folder, megabytes, script):
    mount = f"mount -t tmpfs -o size={megabytes}m none {folder} && "
    command = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "sh", "-ec", mount + script]
    return subprocess.run(command, capture_output=True, text=True, env=clean_environment())


def mountable(tmp_path_factory):
    return bool(shutil.which("unshare")) and not in_small_file_system(tmp_path_factory.mktemp("try"), 1, "true").returncode


@pytest.fixture
def small(tmp_path_factory):
    if not mountable(tmp_path_factory):
        pytest.skip("no file system can be mounted here")
    return tmp_path_factory.mktemp("small")


def test_where_mounting_is_allowed_a_full_disk_is_told_at_the_start_and_the_program_goes_on(small, tmp_path):
    (tmp_path / "A.csv").write_text("4,1\n2,3\n")
    done = in_small_file_system(small, 1, f"WELLPOSED_RECORD={small}/run.wpr {CLI} inv {tmp_path}/A.csv; ls {small}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.3")
    assert "cannot be reserved" in done.stderr and "No space left on device" in done.stderr
    assert "Free space, or keep fewer records" in done.stderr
    assert ".wpr" not in done.stdout


def test_where_mounting_is_allowed_a_disk_that_fills_up_later_does_not_hurt_the_recording(small):
    done = in_small_file_system(small, 16, f"""
        {WORKER} {small}/run.wpr train > {small}/said & pid=$!
        until [ -s {small}/said ]; do sleep 0.01; done
        dd if=/dev/zero of={small}/rest bs=1M 2> /dev/null || true
        sleep 0.2; kill -0 $pid; kill -9 $pid; wait $pid || true
        {CLI} postmortem {small}/run.wpr || true""")
    assert done.returncode == 0, done.stderr
    assert "killed without a word" in done.stdout, done.stdout + done.stderr
    assert "What is missing" not in done.stdout


@pytest.fixture
def group():
    """A control group that allows 300 MiB, or a skip where none can be made."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        made = pathlib.Path(base) / f"wellposed-test-{os.getpid()}"
        try:
            made.mkdir()
            (made / limit).write_text(str(300 << 20))
        except OSError:
            if made.exists():
                made.rmdir()
            continue
        yield made
        made.rmdir()
        return
    pytest.skip("no control group can be made here")


def in_group(group, *command):
    return subprocess.run(["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *command], capture_output=True, text=True,
                          env=clean_environment())


def test_where_a_control_group_can_be_made_a_kill_for_want_of_memory_is_told(group, tmp_path):
    file = tmp_path / "run.wpr"
    assert in_group(group, WORKER, str(file), "hungry").returncode == -9
    done = subprocess.run([CLI, "postmortem", str(file)], capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 1
    assert "probably for want of memory" in done.stdout, done.stdout
    assert "belong to scope cache, the most of all" in done.stdout, done.stdout


def test_where_a_control_group_can_be_made_a_request_beyond_its_limit_is_refused_and_the_process_goes_on(group, tmp_path):
    done = in_group(group, WORKER, str(tmp_path / "run.wpr"), "beyond")
    assert done.returncode == 0, done.stderr
    assert "800 MiB" in done.stdout, done.stdout
