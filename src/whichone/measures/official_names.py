"""KILT's official names of measures, and ours."""

OFFICIAL = {
    "Rprec": "rprec",
    "success_rate": "success_rate",
    "KILT-em": "kilt_em",
    "KILT-f1": "kilt_f1",
    "KILT-accuracy": "kilt_accuracy",
    "KILT-rougel": "kilt_rouge_l",
    "rougel": "rouge_l",
}
