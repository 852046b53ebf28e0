"""Encodes an ONNX model of one node, without the onnx package.

ONNX is protocol buffers: a message is a sequence of fields, each a number, a wire type and a value.
The field numbers below are those of onnx.proto.
"""

import struct

import numpy as np

# TensorProto.DataType
ELEMENT_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int32): 6, np.dtype(np.float16): 10}

# AttributeProto.AttributeType
FLOAT, INT = 1, 2

IR_VERSION = 10
OPSETS = {"": 23, "com.microsoft": 1}


def varint(value):
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def field(number, value):
    """Encodes one field; its wire type depends on the value: int, float, text or embedded message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    number, kind = (2, FLOAT) if isinstance(value, float) else (3, INT)
    return field(1, name) + field(number, value) + field(20, kind)


def value_info(name, dtype, shape):
    dims = b"".join(field(1, field(1, size)) for size in shape)
    tensor = field(1, ELEMENT_TYPES[np.dtype(dtype)]) + field(2, dims)
    return field(1, name) + field(2, field(1, tensor))


def build(op, domain, inputs, outputs, attributes):
    """Returns the model. inputs and outputs map names to (type, shape), in the order of the node's;
    a name without a value is an input that is left out."""
    node = b"".join(field(1, name if value else "") for name, value in inputs.items())
    node += b"".join(field(2, name) for name in outputs)
    node += field(4, op) + field(7, domain)
    node += b"".join(field(5, attribute(*item)) for item in attributes.items())
    graph = field(1, node) + field(2, "heed")
    graph += b"".join(field(11, value_info(n, *value)) for n, value in inputs.items() if value)
    graph += b"".join(field(12, value_info(n, *value)) for n, value in outputs.items())
    opsets = (field(8, field(1, name) + field(2, version)) for name, version in OPSETS.items())
    return field(1, IR_VERSION) + b"".join(opsets) + field(7, graph)
