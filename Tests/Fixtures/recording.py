"""What is in a recording. Needs the Python packages mcap and mcap-protobuf-support."""
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory


def messages(path):
    """Topic and message, in order."""
    with open(path, "rb") as file:
        for _, channel, _, message in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            yield channel.topic, message


def line_of(polyline):
    """A delta-coded line in degrees."""
    latitude = longitude = 0
    for step_north, step_east in zip(polyline.lat_deltas_e7, polyline.lon_deltas_e7):
        latitude, longitude = latitude + step_north, longitude + step_east
        yield latitude * 1e-7, longitude * 1e-7
