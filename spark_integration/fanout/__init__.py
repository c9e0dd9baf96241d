"""Work items from any program to the executors of Spark, and results back."""

from ._fanout import FanOut as FanOut
from ._told import FanOutError as FanOutError
from ._told import FanOutStats as FanOutStats
from ._told import ItemError as ItemError
