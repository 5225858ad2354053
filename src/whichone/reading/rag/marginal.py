"""The two marginals of RAG (Lewis and others, 2020, section 2.1), in logarithms.

`documents` are log p(z | x), one row a question; `tokens` are log p(y_i | x, z, y_<i) of the target's
tokens under every document; `mask` is 1 where the target has a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Marginal = Literal["sequence", "token"]
MARGINALS: tuple[str, ...] = ("sequence", "token")


def sequence_log_likelihood(
    documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """RAG-Sequence: one document writes the whole answer, summed over documents."""
    import torch

    whole = (tokens * mask[:, None, :]).sum(-1)
    return torch.logsumexp(documents + whole, 1)


def token_log_likelihood(
    documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """RAG-Token: each token may come from another document."""
    import torch

    each = torch.logsumexp(documents[:, :, None] + tokens, 1)
    return (each * mask).sum(-1)


def log_likelihood(
    marginal: Marginal, documents: torch.Tensor, tokens: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    both = {"sequence": sequence_log_likelihood, "token": token_log_likelihood}
    return both[marginal](documents, tokens, mask)
