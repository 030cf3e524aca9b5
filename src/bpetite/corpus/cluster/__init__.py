"""Counting and encoding on a Ray cluster, with the same results as on one machine.

A corpus is divided into tasks: small files are put together, large ones divided where records begin. The
result of a task depends on its part alone, so the task of a worker that died is run again. Results wait in
the cluster's memory (Ray moves to disk what does not fit) for the tasks that add up a range of pretokens or
write a shard. All machines must see the same files under the same names.
"""

from bpetite.corpus.cluster.counting import Counted, count, count_to_file, count_to_folder
from bpetite.corpus.cluster.encoding import encode

__all__ = ["Counted", "count", "count_to_file", "count_to_folder", "encode"]
