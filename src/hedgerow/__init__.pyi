"""The public names and where each lives; `__init__.py` loads a name when it is first used."""

from . import datasets as datasets
from . import errors as errors
from .auditing.compare_models import ModelComparison as ModelComparison
from .auditing.compare_models import compare_models as compare_models
from .auditing.frontier import frontier as frontier
from .auditing.inference import inference as inference
from .auditing.measure import audit as audit
from .auditing.result import Audit as Audit
from .auditing.score import score as score
from .errors import HedgerowError as HedgerowError
from .hierarchy import Hierarchy as Hierarchy
from .key import Key as Key
from .measures import guarantees as guarantees
from .methods.anatomy import Anatomy as Anatomy
from .methods.full_domain import Datafly as Datafly
from .methods.full_domain import Incognito as Incognito
from .methods.hedge import Hedge as Hedge
from .methods.mart import MART as MART
from .methods.masking import PRAM as PRAM
from .methods.masking import NoiseAddition as NoiseAddition
from .methods.masking import RankSwapping as RankSwapping
from .methods.masking import TopBottomCoding as TopBottomCoding
from .methods.microaggregation import Microaggregation as Microaggregation
from .methods.mondrian import Mondrian as Mondrian
from .methods.porop import LiROP as LiROP
from .methods.porop import PoROP as PoROP
from .methods.private.private_tree import PrivateTree as PrivateTree
from .methods.randomized_response import RandomizedResponse as RandomizedResponse
from .methods.suppression import LocalSuppression as LocalSuppression
from .methods.tpp import TreePatternPreserving as TreePatternPreserving
from .methods.tpp import verify_model as verify_model
from .plan import Plan as Plan
from .profiles import Profile as Profile
from .release import Release as Release
from .release.explode import explode as explode
from .release.reconstruct import reconstruct as reconstruct
from .schema import Schema as Schema
from .workflow.inspection import inspect as inspect
from .workflow.protect import protect as protect
from .workflow.session import Session as Session

__version__: str
