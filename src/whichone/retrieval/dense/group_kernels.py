"""The two Triton kernels behind `group_maxima` on a GPU with tensor memory access (Hopper and later).

`maxima` takes the maximum of each group where the product is made: scores never travel to memory.
`inside` computes the scores of (question, group) pairs sorted by group, so that a group's passages
are read once for all questions that want them.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

ROWS, COLUMNS, DEPTH = 128, 256, 64
PAIRS = 64


@triton.jit
def _maxima_kernel(
    questions,
    passages,
    out,
    question_count,
    passage_count,
    depth,
    group_count,
    group: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    step: tl.constexpr,
    programs: tl.constexpr,
):
    row_tiles = tl.cdiv(question_count, rows)
    tiles = row_tiles * tl.cdiv(passage_count, columns)
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=True):
        row = (tile % row_tiles) * rows  # all questions stay in the L2 cache, passages stream through
        column = (tile // row_tiles) * columns
        product = tl.zeros((rows, columns), tl.float32)
        for at in range(0, depth, step):
            a = questions.load([row, at])
            b = passages.load([column, at])
            product = tl.dot(a, b.T, product)
        ordinals = column + tl.arange(0, columns)
        product = tl.where((ordinals < passage_count)[None, :], product, float("-inf"))
        best = tl.max(tl.reshape(product, (rows, columns // group, group)), axis=2)
        question = row + tl.arange(0, rows)
        place = column // group + tl.arange(0, columns // group)
        held = (question < question_count)[:, None] & (place < group_count)[None, :]
        tl.store(out + question.to(tl.int64)[:, None] * group_count + place[None, :], best, mask=held)


def maxima(questions: torch.Tensor, passages: torch.Tensor, group: int) -> torch.Tensor:
    """The best score of each question in each group."""
    groups = triton.cdiv(len(passages), group)
    out = torch.empty((len(questions), groups), dtype=torch.float32, device=questions.device)
    programs = torch.cuda.get_device_properties(questions.device).multi_processor_count
    _maxima_kernel[(programs,)](
        TensorDescriptor.from_tensor(questions.contiguous(), [ROWS, DEPTH]),
        TensorDescriptor.from_tensor(passages.contiguous(), [COLUMNS, DEPTH]),
        out,
        len(questions),
        len(passages),
        questions.shape[1],
        groups,
        group=group,
        rows=ROWS,
        columns=COLUMNS,
        step=DEPTH,
        programs=programs,
        num_warps=8,
        num_stages=4,
    )
    return out


@triton.jit
def _inside_kernel(
    questions,
    passages,
    question_of,
    position_of,
    starts,
    out,
    passage_count,
    depth,
    group: tl.constexpr,
    pairs: tl.constexpr,
    step: tl.constexpr,
):
    which = tl.program_id(0)
    first = tl.load(starts + which) + tl.program_id(1) * pairs
    last = tl.load(starts + which + 1)
    if first < last:
        pair = first + tl.arange(0, pairs)
        held = pair < last
        question = tl.load(question_of + pair, mask=held, other=0).to(tl.int64)
        position = tl.load(position_of + pair, mask=held, other=0).to(tl.int64)
        ordinals = which.to(tl.int64) * group + tl.arange(0, group)
        there = ordinals < passage_count
        product = tl.zeros((pairs, group), tl.float32)
        for at in range(0, depth, step):
            columns = at + tl.arange(0, step)
            a = tl.load(questions + question[:, None] * depth + columns[None, :])
            b = tl.load(
                passages + ordinals[:, None] * depth + columns[None, :], mask=there[:, None], other=0.0
            )
            product = tl.dot(a, b.T, product)
        place = position[:, None] * group + tl.arange(0, group)[None, :]
        tl.store(out + place, product, mask=held[:, None])


def inside(questions: torch.Tensor, passages: torch.Tensor, groups: torch.Tensor, group: int) -> torch.Tensor:
    """The scores inside the chosen groups, as (question, group, place)."""
    count = triton.cdiv(len(passages), group)
    flat = groups.flatten().int()
    ordered, position = flat.sort()
    starts = torch.searchsorted(ordered, torch.arange(count + 1, device=flat.device, dtype=torch.int32))
    most = int((starts[1:] - starts[:-1]).max())
    out = torch.empty((len(flat), group), dtype=torch.float32, device=flat.device)
    _inside_kernel[(count, triton.cdiv(most, PAIRS))](
        questions,
        passages,
        position // groups.shape[1],
        position,
        starts,
        out,
        len(passages),
        questions.shape[1],
        group=group,
        pairs=PAIRS,
        step=64,
        num_warps=4,
        num_stages=3,
    )
    return out.view(len(questions), groups.shape[1], group)
