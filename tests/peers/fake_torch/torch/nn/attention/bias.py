"""See ../../__init__.py."""

import numpy as np


def causal_lower_right(queries, keys):
    import torch

    return torch.Tensor(np.tri(queries, keys, keys - queries, dtype=np.bool_))
