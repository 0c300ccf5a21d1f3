"""Training: learned positions learn at their own rate, in plain torch and under Lightning's precisions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import structpos as sp
from structpos import Positions, parameter_groups


def model(encoder: sp.PositionEncoder) -> sp.Transformer:
    torch.manual_seed(0)
    return sp.Transformer(32, 2, 4, encoder=encoder)


def test_learned_positions_have_a_group_of_their_own() -> None:
    network = model(sp.Sum(parts={"table": sp.Learned(32, 16), "t5": sp.T5Bias(4)}))
    groups = parameter_groups(network, lr=1e-3, weight_decay=0.1)
    assert [(group["name"], group["lr"], group["weight_decay"]) for group in groups] == [
        ("network", 1e-3, 0.1),
        ("positions", pytest.approx(1e-4), 0.0),
    ]
    assert {id(parameter) for parameter in groups[1]["params"]} == {
        id(parameter) for parameter in network.input.parameters()
    }
    together = [id(parameter) for group in groups for parameter in group["params"]]
    assert len(together) == len(set(together)) == len(list(network.parameters()))
    torch.optim.AdamW(groups)


def test_bias_tables_may_learn_faster() -> None:
    groups = parameter_groups(model(sp.T5Bias(4)), lr=1e-3, position_rate=20.0, position_decay=0.5)
    assert groups[1]["lr"] == pytest.approx(0.02) and groups[1]["weight_decay"] == 0.5


def test_frozen_positions_stay_where_they_are() -> None:
    network = model(sp.Hybrid(32, 16))
    groups = parameter_groups(network, lr=0.1, freeze=True)
    assert [group["name"] for group in groups] == ["network"]
    before = network.input.encoder.learned_part.table.clone()
    optimizer = torch.optim.AdamW(groups)
    network(torch.randn(1, 4, 32), Positions.sequence(4)).square().sum().backward()
    optimizer.step()
    assert torch.equal(network.input.encoder.learned_part.table, before)


def test_what_a_user_froze_is_not_thawed() -> None:
    network = model(sp.Learned(32, 16))
    network.input.encoder.table.requires_grad_(False)
    parameter_groups(network, lr=0.1)
    assert not network.input.encoder.table.requires_grad


def test_positions_without_anything_learned_make_no_group() -> None:
    assert [group["name"] for group in parameter_groups(model(sp.Rotary(8)), lr=0.1)] == ["network"]
    assert [group["name"] for group in parameter_groups(sp.Learned(8, 4), lr=0.1)] == ["positions"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: parameter_groups(nn.Identity(), lr=0.1), "Identity has no parameters to train"),
        (lambda: parameter_groups(nn.Linear(1, 1), lr=-1), "Learning rates are 0 or more, got lr=-1"),
    ],
)
def test_what_cannot_be_trained_is_told(make: Any, text: str) -> None:
    with pytest.raises(sp.PositionError, match=text):
        make()


@pytest.mark.parametrize("name", ["learned", "t5", "gated"])
def test_a_task_that_needs_places_is_learned(name: str) -> None:
    """Which token came first, or just before? Without positions nobody knows; with them the loss falls."""
    encoder: dict[str, sp.PositionEncoder] = {
        "learned": sp.Learned(32, 16),
        "t5": sp.T5Bias(4),
        "gated": sp.GatedSum(parts={"order": sp.Sinusoidal(32)}, start=0.0),
    }
    torch.manual_seed(0)
    embed, head = nn.Embedding(4, 32), nn.Linear(32, 4)
    network = sp.Transformer(32, 1, 4, encoder=encoder[name])
    parts = nn.ModuleList([embed, network, head])
    optimizer = torch.optim.AdamW(parameter_groups(parts, lr=1e-2, position_rate=5.0))
    losses = []
    for _ in range(60):
        ids = torch.randint(4, (16, 8))
        out = head(network(embed(ids), Positions.sequence(8)))[:, 1:]
        wanted = ids[:, :-1] if name == "t5" else ids[:, :1].expand(-1, 7)
        loss = nn.functional.cross_entropy(out.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0], losses[::10]


# Under Lightning's Trainer.

SEEN: dict[str, Any] = {}


def probe(precision: str) -> dict[str, Any]:
    """Two steps of a Trainer on instants of 2023 and large orders; what the training step saw."""
    lightning = pytest.importorskip("lightning")

    class Probe(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.time = sp.Sinusoidal(32, "time", wavelengths=(60e9, 86400e9))
            self.network = model(sp.Sum(parts={"rope": sp.Rotary(8), "t5": sp.T5Bias(4), "alibi": sp.ALiBi(4)}))

        def training_step(self, batch: dict[str, Any], _: int) -> torch.Tensor:
            positions = batch["positions"]
            vector = self.time(positions)
            out = self.network(batch["x"] + vector, positions)
            rope = self.network.input.encoder.parts["rope"](positions)
            SEEN.update(positions=positions, vector=vector, out=out, cos=rope.query_cos, ids=batch["ids"])
            SEEN.update(state=self.network.input.encoder.parts["t5"].table.dtype)
            return out.float().square().mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(parameter_groups(self, lr=1e-4))

    stamps = [[1_700_000_000 * 10**9 + 60 * 10**9 * step for step in range(4)]]
    positions = Positions.timestamps(torch.tensor(stamps)).with_axes(order=torch.arange(300, 304)[None])
    batch = {"positions": positions, "x": torch.zeros(1, 4, 32), "ids": torch.arange(2046, 2050)[None]}
    if precision == "64-true":
        batch["x"] = batch["x"].double()
    trainer = lightning.Trainer(
        max_steps=1,
        precision=precision,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        barebones=False,
    )
    trainer.fit(Probe(), torch.utils.data.DataLoader([batch], batch_size=None))
    return dict(SEEN)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bf16-true", "16-true", "bf16-mixed", "64-true"])
@pytest.mark.filterwarnings("ignore")
def test_l1_l2_l3_l14_a_trainer_rounds_results_and_nothing_before(precision: str) -> None:
    exact, seen = probe("32-true"), probe(precision)
    assert torch.equal(seen["positions"]["time"], exact["positions"]["time"])
    assert seen["positions"]["time"].dtype == torch.int64 and seen["positions"]["order"].tolist() == [
        [300, 301, 302, 303]
    ]
    assert seen["ids"].dtype == torch.int64
    kind = {
        "bf16-true": torch.bfloat16,
        "16-true": torch.float16,
        "bf16-mixed": torch.float32,
        "64-true": torch.float64,
    }
    assert seen["vector"].dtype == seen["state"] == kind[precision]
    assert seen["cos"].dtype == torch.promote_types(torch.float32, kind[precision])
    torch.testing.assert_close(seen["cos"].float(), exact["cos"], atol=1e-6, rtol=0)
    allowed = 1e-6 if kind[precision] in (torch.float32, torch.float64) else 8e-3
    torch.testing.assert_close(seen["vector"].float(), exact["vector"], atol=allowed, rtol=0)
    torch.testing.assert_close(seen["out"].float(), exact["out"], atol=0.1, rtol=0)
