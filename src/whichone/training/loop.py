"""The libraries' trainers with our batches, our account and our checks; imported where torch is used."""

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import msgspec
import torch
import transformers
from accelerate.utils import gather_object
from transformers.trainer_callback import PrinterCallback
from transformers.utils import WEIGHTS_NAME

from whichone.files.folder import promise_to_go_on
from whichone.progress import talk
from whichone.training.trainer import CHECKPOINTS, Training, TrainingSettings

STATE = "trainer_state.json"  # Of a checkpoint; the trainer writes it last


class Joined(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """Modules that learn together; calling it gives the loss, which is what a trainer asks of a model."""

    def __init__(
        self, parts: dict[str, Any], fixed: Sequence[str], loss: Callable[..., torch.Tensor]
    ) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleDict(parts)
        self._fixed, self._loss = fixed, loss
        for name in fixed:
            self.parts[name].requires_grad_(False)

    def forward(self, **inputs: Any) -> dict[str, torch.Tensor]:
        return {"loss": self._loss(**inputs)}

    def learned(self) -> dict[str, torch.Tensor]:
        fixed = tuple(f"parts.{name}." for name in self._fixed)
        return {k: v for k, v in self.state_dict().items() if not k.startswith(fixed)}

    def train(self, mode: bool = True) -> Self:
        """What does not learn drops nothing out either."""
        super().train(mode)
        for name in self._fixed:
            self.parts[name].eval()
        return self


class Batches(torch.utils.data.Sampler):  # type: ignore[misc]  # torch has no types here
    """Each batch of an epoch as (epoch, row); the trainer says which epoch it is."""

    def __init__(self, training: Training[Any]) -> None:
        self._training, self._epoch = training, 0
        self.batch_size, self.drop_last = training.settings.batch, True

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __len__(self) -> int:
        return self._training.steps

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for rows in self._training.batches(self._epoch):
            yield [(self._epoch, int(row)) for row in rows]


class Rows(torch.utils.data.Dataset):  # type: ignore[misc]  # torch has no types here
    """The examples, each with the epoch in which it is asked for."""

    def __init__(self, examples: Sequence[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, place: tuple[int, int]) -> tuple[int, Any]:
        return place[0], self._examples[place[1]]


class TrainingAccount(transformers.TrainerCallback):  # type: ignore[misc]  # transformers is not followed
    """Says how far it is, keeps checkpoints between epochs and at a signal, and refuses gradients that are no numbers."""

    def __init__(
        self, training: Training[Any], advance: Callable[[int], None], signals: Sequence[int]
    ) -> None:
        self._training, self._advance, self._signals = training, advance, signals

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._advance(state.global_step)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        grads = [p.grad for p in given["model"].parameters() if p.grad is not None]
        self._training.must_be_finite("gradient", torch.nn.utils.get_total_norm(grads), state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._advance(1)
        signalled = any(gather_object([bool(self._signals)]))  # all processes stop at the same step
        ends = state.global_step % self._training.updates == 0
        if (signalled or state.global_step % self._training.settings.every == 0) and not ends:
            control.should_save = control.should_log = True
        if signalled:
            control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        promise_to_go_on()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % self._training.updates:  # stopped by a signal in the middle
            control.should_save = control.should_log = control.should_evaluate = False

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if logs and state.global_step % self._training.updates == 0:
            if "loss" in logs:
                talk(f"epoch {round(state.epoch)}: loss {losses_of(state)[-1]:.4f}")
            if "eval_accuracy" in logs:
                talk(f"held-out names {logs['eval_accuracy']:.3f}")


class Loop:
    """What a trainer of either library does otherwise here."""

    training: Training[Any]
    losses: list[float]  # Of the batches since the last entry in the log

    def get_train_dataloader(self) -> Any:
        """Batches that seed and epoch decide; no random number is drawn for them."""
        loader = torch.utils.data.DataLoader(
            Rows(self.training.examples),
            batch_sampler=Batches(self.training),
            collate_fn=self._collated,
            generator=torch.Generator(),
        )
        self.accelerator.even_batches = False  # type: ignore[attr-defined]
        return self.accelerator.prepare(loader)  # type: ignore[attr-defined]

    def _collated(self, rows: Sequence[tuple[int, Any]]) -> dict[str, Any]:
        batch = [example for _, example in rows]
        return {**self.training.collate(batch, rows[0][0]), "ids": [e.id for e in batch]}

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **more: Any) -> Any:
        self.training.shown = inputs.pop("ids")
        loss = super().compute_loss(model, inputs, *args, **more)  # type: ignore[misc]
        self.training.must_be_finite("loss", loss, self.state)  # type: ignore[attr-defined]
        self.losses.append(float(loss.detach()))
        return loss

    def log(self, logs: dict[str, float], *args: Any) -> None:
        """The mean of exact losses: where training was stopped in between does not show in it."""
        if "loss" in logs:
            losses = gather_object(self.losses)
            logs = {**logs, "loss": math.fsum(losses) / len(losses), "batches": len(losses)}
            self.losses = []
        super().log(logs, *args)  # type: ignore[misc]

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Of joined modules the weights that change; they may share some, which safetensors refuses."""
        own: Any = self
        if isinstance(own.model, Joined) and output_dir is not None:
            Path(output_dir).mkdir(parents=True, exist_ok=True)
            torch.save(own.model.learned(), Path(output_dir) / WEIGHTS_NAME)
        else:
            super()._save(output_dir, state_dict)  # type: ignore[misc]

    def _save_rng_state(self, output_dir: str) -> None:
        """Of all processes, written by the first."""
        with TemporaryDirectory() as own:
            super()._save_rng_state(own)  # type: ignore[misc]
            made = gather_object([(file.name, file.read_bytes()) for file in Path(own).iterdir()])
        for name, content in made if self.args.should_save else ():  # type: ignore[attr-defined]
            (Path(output_dir) / name).write_bytes(content)

    def _load_from_checkpoint(self, place: str, model: Any = None) -> None:
        own: Any = self
        if not isinstance(own.model, Joined):
            super()._load_from_checkpoint(place)  # type: ignore[misc]
        else:  # of what is fixed there are no weights
            weights = torch.load(Path(place) / WEIGHTS_NAME, map_location="cpu", weights_only=True)
            own.model.load_state_dict(weights, strict=False)

    def _load_best_model(self) -> None:
        self._load_from_checkpoint(self.state.best_model_checkpoint)  # type: ignore[attr-defined]

    def evaluate(self, *args: Any, **more: Any) -> dict[str, float]:
        own: Any = self
        own.model.eval()
        with torch.no_grad():
            metrics = {"eval_accuracy": gather_object([self.training.accuracy()])[0]}
        own.log(metrics)
        own.control = own.callback_handler.on_evaluate(own.args, own.state, own.control, metrics)
        return metrics

    def preprocess_dataset(self, dataset: Any = None, dataset_name: str | None = None) -> Any:
        """Our examples are no columns of texts: batches are made of them."""
        return dataset

    def add_model_card_callback(self, default_args_dict: Any) -> None:
        """A model card would name a dataset that was never published; to render one took longer than to save a small checkpoint."""
        self.model._create_model_card = lambda *_, **__: None  # type: ignore[attr-defined]


def library_trainer(training: Training[Any], account: TrainingAccount) -> Any:
    """A trainer of sentence-transformers, or transformers' own, over this training's batches."""
    import sentence_transformers

    name, settings = training.library, training.settings
    library = sentence_transformers if hasattr(sentence_transformers, name) else transformers
    args = getattr(library, name.removesuffix("Trainer") + "TrainingArguments")(
        output_dir=str(training.folder / CHECKPOINTS),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        gradient_accumulation_steps=settings.accumulate,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_steps=settings.warmup
        if settings.warmup < 1
        else min(settings.warmup, training.updates * settings.epochs // 2),
        max_grad_norm=settings.clip,
        seed=settings.seed,
        bf16=training.device.startswith("cuda"),
        use_cpu=training.device == "cpu",
        save_strategy="epoch",
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        eval_strategy="epoch" if training.held_out else "no",
        load_best_model_at_end=bool(training.held_out),
        metric_for_best_model="accuracy" if training.held_out else None,
        greater_is_better=True,
        save_total_limit=1,
        restore_callback_states_from_checkpoint=True,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        use_cache=getattr(getattr(training.model, "config", None), "use_cache", False),
    )
    args._n_gpu = min(1, args.n_gpu)  # one process is one GPU; several are accelerate's
    kind = type(name, (Loop, getattr(library, name)), {"training": training, "losses": []})
    callbacks: list[Any] = [account]
    if training.held_out and settings.patience:
        callbacks.append(transformers.EarlyStoppingCallback(settings.patience))
    extra = {} if training.criterion is None else {"loss": training.criterion}
    trainer = kind(
        model=training.model,
        args=args,
        train_dataset=Rows(training.examples),
        eval_dataset=training.held_out or None,
        data_collator=training.collate,
        callbacks=callbacks,
        **extra,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.model_accepts_loss_kwargs = False
    return trainer


def train(training: Training[Any], advance: Callable[[int], None], signals: Sequence[int]) -> Any:
    """Train to the end, or to a signal, from the last whole checkpoint; the trainer's state."""
    trainer = library_trainer(training, TrainingAccount(training, advance, signals))
    with trainer.accelerator.main_process_first():
        last = last_checkpoint(training.folder / CHECKPOINTS)
    if last is not None and _is_over(last, training.settings):
        trainer.state = transformers.TrainerState.load_from_json(str(last / STATE))
        trainer._load_from_checkpoint(trainer.state.best_model_checkpoint or str(last))
        return trainer.state
    trainer.train(resume_from_checkpoint=None if last is None else str(last))
    return trainer.state


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole one; what a kill left of others goes."""
    whole: dict[int, Path] = {}
    for place in folder.glob("checkpoint-*"):
        try:
            msgspec.json.decode((place / STATE).read_bytes())
        except (OSError, msgspec.DecodeError):
            shutil.rmtree(place)
            continue
        whole[int(place.name.rpartition("-")[2])] = place
    return whole[max(whole)] if whole else None


def _is_over(checkpoint: Path, settings: TrainingSettings) -> bool:
    """Whether nothing is left to learn after it: all steps are done, or it had stopped early."""
    state = msgspec.json.decode((checkpoint / STATE).read_bytes())
    early = state.get("stateful_callbacks", {}).get("EarlyStoppingCallback", {}).get("attributes", {})
    stopped = early.get("early_stopping_patience_counter", 0) >= (settings.patience or math.inf)
    return bool(stopped or state["global_step"] >= state["max_steps"])


def losses_of(state: Any) -> list[float]:
    """The mean loss of each epoch, of the means that were logged in it."""
    losses = []
    logged = (entry for entry in state.log_history if "loss" in entry)
    for _, of_epoch in groupby(logged, lambda entry: math.ceil(entry["epoch"])):
        entries = list(of_epoch)
        total = math.fsum(entry["loss"] * entry["batches"] for entry in entries)
        losses.append(round(total / sum(entry["batches"] for entry in entries), 6))
    return losses
