"""Counting and encoding on a Ray cluster: the same arguments in, the same bytes out as on one machine.

A corpus is divided into tasks: small files together, large ones by range where records can be found. A task's
result depends on nothing but its part, so a task whose worker died is simply run again. What a task returns
waits in the cluster's memory (Ray moves what does not fit to disk) for the one that needs it next: it adds up
a range of pretokens, or writes a shard. The machines must see the same files under the same names.
"""

from bpetite.corpus.cluster.counting import Counted, count, count_to_file, count_to_folder
from bpetite.corpus.cluster.encoding import encode

__all__ = ["Counted", "count", "count_to_file", "count_to_folder", "encode"]
