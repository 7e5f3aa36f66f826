# SPDX-License-Identifier: GPL-2.0-or-later
"""otlp.py - OTLP's JSON, by the definitions of the protocol (opentelemetry-proto, PyPI)."""

import base64
import re

try:
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2
    HAVE = True
except ImportError:
    HAVE = False

ID = re.compile(r'("(?:traceId|spanId|parentSpanId)":)"([0-9a-f]*)"')


def parse(text, request=False):
    """A TracesData, or an ExportTraceServiceRequest.  Its JSON has ids as hexadecimal digits, where protobuf's has base64.
    A member that the definitions do not know is an error."""
    message = trace_service_pb2.ExportTraceServiceRequest() if request else trace_pb2.TracesData()
    return json_format.Parse(
        ID.sub(lambda m: '%s"%s"' % (m.group(1), base64.b64encode(bytes.fromhex(m.group(2))).decode()), text), message)


def spans_of(message):
    """[(resource, span)]"""
    return [(of.resource, span) for of in message.resource_spans for scope in of.scope_spans for span in scope.spans]


def attributes(of):
    """{key: value} of a span, an event or a resource; a key that is there twice is an error."""
    found = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}
    if len(found) != len(of.attributes):
        raise ValueError("an attribute is there twice: %s" % of)
    return found
