"""The RONDO paper, one file for each box of its figure; the core finds these stages by name (`stages.py`).

    stream -> windows -> encoder -> UnitAlign -> DeepDPM -> units -> MotifFormer -> motifs -> continual update

| in the paper | file |
|---|---|
| eq. stream, windows | `rondo/data/windows.py` |
| encoders (app. encoders) | `ts2vec.py`, `time_mae.py`, `mantis.py` |
| eq. unit_embedding; UnitAlign: losses and rounds | `unit_align.py` |
| DeepDPM and its autoencoder; split and merge, NIW | `deep_dpm.py`; `split_merge.py` |
| eq. unit: timeline, Viterbi | `rondo/units/viterbi.py`, which the default chain shares |
| subsequences, matching by P95 and P5 | `candidates.py` |
| eq. motif_embedding; MotifFormer: network, losses, training | `motif_former.py` |
| eq. motif: long to short, soft coverage; linking, fusion | `motifs.py`; `fusion.py` |
| continual update of units, of motifs | `continual.py`, `former_reader.py` |
| refine; merge, promote, expire | `latent_entries.py`; `micro_clusters.py` |
| ablations; hyper-parameter tables | `ablations.py`; `settings.py` |
| training loop, weights, CUDA graphs | `training.py` |

`stages.py` declares all of it without importing torch, and the presets `paper` and `paper-fast`.
"""
