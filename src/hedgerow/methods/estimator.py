"""scikit-learn's public conventions for estimators, without importing it.

Importing scikit-learn takes longer than protecting a small table. `clone`,
pipelines and cross-validation call `get_params`, `set_params` and
`__sklearn_tags__`; these are here, and only the last one imports scikit-learn.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

from ..display import notebook_html
from ..errors import ParameterError
from ..validation import is_number

OUTPUTS = ("default", "pandas", "polars")


class Estimator:
    """An object with scikit-learn's estimator methods; its parameters are the arguments of `__init__`."""

    # Whether X may hold missing numbers.
    allows_missing: ClassVar[bool] = True

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Also the parameters of parameters that are estimators, as ``name__parameter``.
        """
        parameters = {}
        for name in self._parameter_names():
            value = getattr(self, name)
            parameters[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                parameters |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; ``name__parameter`` sets a parameter of a nested estimator."""
        valid = self._parameter_names()
        nested: dict[str, dict[str, object]] = {}
        for name, value in parameters.items():
            first, _, inner = name.partition("__")
            if first not in valid:
                raise ValueError(f"{type(self).__name__} has no parameter {first!r}; it has {', '.join(valid)}")
            if inner:
                nested.setdefault(first, {})[inner] = value
            else:
                setattr(self, name, value)
        # Last, because the same call may replace the parameter that these belong to.
        for name, inner_parameters in nested.items():
            getattr(self, name).set_params(**inner_parameters)
        return self

    def copy(self) -> Self:
        """Return an unfitted method with the same parameters, which are shared and not copied."""
        return type(self)(**self.get_params(deep=False))

    def _changed(self) -> dict[str, str]:
        """Return the parameters that differ from their defaults, as text."""
        defaults = inspect.signature(type(self).__init__).parameters
        # As text, because arrays and frames have no plain ==.
        texts = {name: repr(getattr(self, name)) for name in self._parameter_names()}
        return {name: text for name, text in texts.items() if text != repr(defaults[name].default)}

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={text}" for name, text in self._changed().items())
        return f"{type(self).__name__}({parameters})"

    def _repr_html_(self) -> str:
        """Return an HTML table of the parameters, for notebooks."""
        changed = self._changed()
        rows = [
            (name, repr(getattr(self, name)), "" if name in changed else "default") for name in self._parameter_names()
        ]
        about = (inspect.getdoc(type(self)) or "").partition("\n\n")[0].replace("\n", " ")
        fitted = "Fitted: plan_ holds what was learnt." if self.__sklearn_is_fitted__() else ""
        return notebook_html(type(self).__name__, [about, fitted], ("", ("parameter", "value", " "), rows))

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the type of frame that `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            "default" gives the kind of frame that came in. None changes nothing.
        """
        if transform is not None:
            if transform not in OUTPUTS:
                raise ParameterError(f"set_output knows no frame {transform!r}", hint=f"one of {', '.join(OUTPUTS)}")
            self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _own_output(self) -> str | None:
        """Return the type of frame that `set_output` chose for this object; None if nobody called it."""
        config: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        return config.get("transform")

    @property
    def _output(self) -> str:
        """Return the type of frame chosen for this object or, failing that, in scikit-learn's configuration."""
        # Where nobody has imported scikit-learn, nobody has configured it.
        sklearn = sys.modules.get("sklearn")
        everywhere = "default" if sklearn is None else sklearn.get_config()["transform_output"]
        return self._own_output or everywhere

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn calls this, so it is imported already.
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(string=True, categorical=True, allow_nan=self.allows_missing),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "plan_")

    def _check_fitted(self) -> None:
        """Raise scikit-learn's NotFittedError if this object is not fitted yet."""
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")


# How often a method is tightened before a search gives up.
RUNGS = 5
CAPS = (0.4, 0.3, 0.2, 0.1, 0.05)

# The values of each parameter that a frontier tries by default.
TRIED: Mapping[str, tuple[float, ...]] = {
    "k": (5, 10, 20, 50),
    "max_disclosure": (0.2, 0.4, 0.6),
    "l": (2, 3, 5),
    "scale": (0.1, 0.3, 1.0),
    "proportion": (0.05, 0.15, 0.4),
    "stay": (0.8, 0.6, 0.3),
    "top_share": (0.01, 0.05, 0.1),
    "epsilon": (0.5, 1.0, 2.0, 4.0),
}

# By parameter, the stricter value at a rung, from the first value and the number of the rung.
_STRICTER: Mapping[str, Callable[[Any, int], Any]] = {
    "k": lambda k, rung: int(k) * 2**rung,
    "max_disclosure": lambda cap, rung: min(cap if cap is not None else 1.0, CAPS[rung - 1]),
    "l": lambda most, rung: most * 2**rung,
    "scale": lambda scale, rung: scale * 2**rung,
    "proportion": lambda share, rung: min(share * 2**rung, 1.0),
    "stay": lambda stay, rung: stay / 2**rung,
}


def moved(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the parameters that `rungs` can tighten: numbers, and a cap that is None."""
    return tuple(
        name
        for name in _STRICTER
        if is_number(parameters.get(name)) or (name == "max_disclosure" and parameters.get(name, 1) is None)
    )


def rungs(parameters: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield stricter and stricter values of the parameters; nothing if none can be tightened.

    Examples
    --------
    >>> list(rungs({"k": 10, "max_disclosure": 0.3, "numeric": "range"}))[:2]
    [{'k': 20, 'max_disclosure': 0.3}, {'k': 40, 'max_disclosure': 0.3}]
    """
    names = moved(parameters)
    for rung in range(1, RUNGS + 1 if names else 1):
        yield {name: _STRICTER[name](parameters[name], rung) for name in names}
