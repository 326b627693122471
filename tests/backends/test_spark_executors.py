"""Sessions of other kinds: executors that die and a Spark that is elsewhere change no byte of a release."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hedgerow as hr

from .test_spark import PEOPLE, SCHEMA, plain

JOB = """
import os, signal, sys, threading, time
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

import hedgerow as hr

people, out = sys.argv[1:]
settings = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # what died is not asked for its shuffles again and again
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.sql.session.timeZone": "UTC",
    "spark.local.dir": out + "-spark",
}
builder = SparkSession.builder
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
lost, intact = set(), threading.Event()


def lose():
    # the first file of two shuffles, when it is complete and another stage is to read it
    while not intact.is_set() and len(lost) < 2:
        with suppress(OSError):
            for data in Path(out + "-spark").rglob("shuffle_*.data"):
                shuffle = data.name.split("_")[1]
                if shuffle not in lost and len(lost) < 2:
                    data.unlink()
                    lost.add(shuffle)
        time.sleep(0.002)


def stages_again():
    none = spark.sparkContext._jvm.java.util.ArrayList()
    empty = spark.sparkContext._gateway.new_array(spark.sparkContext._jvm.double, 0)
    stages = spark.sparkContext._jsc.sc().statusStore().stageList(none, False, False, empty, none)
    return sum(stages.apply(i).attemptId() > 0 for i in range(stages.size()))


def executors():
    parents, found = {}, []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                told = (folder / "stat").read_text().rpartition(")")[2].split()
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            parents[int(folder.name)] = int(told[1])
            if b"CoarseGrainedExecutorBackend" in line and told[0] != "Z":
                found.append(int(folder.name))

    def ours(pid):
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return sorted(filter(ours, found))


killed, seen, tried_again = [], set(), []


def progress(step, share):
    if step == "recoding" and step not in seen:
        intact.set()
        tried_again.append(stages_again())
    if step in ("recoding", "verifying") and step not in seen:
        seen.add(step)
        here = [pid for pid in executors() if pid not in killed]
        if here:
            os.kill(here[0], signal.SIGKILL)
            killed.append(here[0])


schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income", "diagnosis"])
frame = spark.read.parquet(people).repartition(4)
threading.Thread(target=lose, daemon=True).start()
release = hr.protect(frame, schema, hr.MART(8), progress=progress)
release.write(out)
print("killed", len(killed), "shuffles lost", len(lost), "stages again", tried_again[0] > 0)
spark.stop()
"""


def _ran(job: str, folder: Path) -> str:
    """The last line that a job prints which protects people; its release must be that of memory."""
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed (the extra spark)")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is absent, which Spark needs")
    table = plain(PEOPLE)
    pq.write_table(table, folder / "people.parquet")
    hr.protect(table, SCHEMA, hr.MART(8)).write(folder / "wanted")
    (folder / "job.py").write_text(job)
    asked = [str(folder / name) for name in ("job.py", "people.parquet", "found")]
    paths = os.pathsep.join(sys.path)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", *asked],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": paths},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found, wanted = ((folder / name / "release.parquet").read_bytes() for name in ("found", "wanted"))
    assert found == wanted
    return ran.stdout.splitlines()[-1]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lost_executors_and_shuffles_change_nothing(tmp_path: Path) -> None:
    assert _ran(JOB, tmp_path) == "killed 2 shuffles lost 2 stages again True"


CONNECTED = """
import sys

from pyspark.sql import SparkSession

import hedgerow as hr
from hedgerow.backends.spark import cluster

cluster.FILE_FROM = 1  # arrays go to executors as files, as those of columns with many values do
people, out = sys.argv[1:]
builder = SparkSession.builder.remote("local[2]")
for name, value in {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
send, sent = spark.addArtifacts, []
spark.addArtifacts = lambda path, file: (sent.append(path), send(path, file=file))
schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income", "diagnosis"])
release = hr.protect(spark.read.parquet(people), schema, hr.MART(8))
release.write(out)
print(type(release.table).__module__, len(sent) > 5)
spark.stop()
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_spark_connect(tmp_path: Path) -> None:
    """A session that is a client of a server: no SparkContext is here."""
    pytest.importorskip("grpc_status", reason="grpcio-status is not installed (pyspark[connect])")
    found = _ran(CONNECTED, tmp_path)
    assert found == "pyspark.sql.connect.dataframe True"
