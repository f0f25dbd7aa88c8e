"""Always-valid inference: what may be said of arms at every look, whoever chose them and why.

`martingale` measures the evidence against a mean or a difference of means, from (n, mean, m2);
`evidence` asks it about all arms; `kurtosis` says how many skewed rewards it takes. The promise,
its assumptions and what was measured are in docs/anytime.md.
"""

from varts.anytime.evidence import Evidence
from varts.anytime.kurtosis import burn_in

__all__ = ["Evidence", "burn_in"]
