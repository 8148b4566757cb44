"""Speech from text with eSpeak NG, whose library and voices come with the package."""

import ctypes
import os
import re
import threading
import wave

import espeakng_loader
from hermes_worker import Refused

SYNCHRONOUS = 2
UTF8 = 1
RATE, VOLUME, PITCH = 1, 2, 3
CHARACTER = 1
CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)

lock = threading.Lock()
settings = {}
library = None
samples_per_second = 0


def configure(params):
    global library, samples_per_second
    settings.update(params.get("settings") or {}, io_dir=params["io_dir"])
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    data = espeakng_loader.get_data_path().encode()
    samples_per_second = library.espeak_Initialize(SYNCHRONOUS, 0, data, 0)
    if samples_per_second <= 0:
        raise Refused("eSpeak NG could not be initialised")


def synthesize(arguments):
    """Writes the speech of a text to a file in the directory for files, and says what it is."""
    voice = arguments.get("voice") or settings.get("voice") or "en-us"
    rate = int(arguments.get("rate") or settings.get("rate") or 175)
    name = arguments["name"]
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise Refused("a file cannot be called %r" % name)
    path = os.path.join(settings["io_dir"], name + ".wav")
    with lock:
        if library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise Refused("there is no voice %r; voices are languages such as en-us, de, fr, cmn" % voice)
        library.espeak_SetParameter(RATE, rate, 0)
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(samples_per_second)
            count = speak(arguments["text"], file)
    if count == 0:
        raise Refused("there is nothing to say in that text")
    return {"path": path, "seconds": round(count / samples_per_second, 3), "voice": voice}


def speak(text, file):
    written = [0]

    def take(samples, count, events):
        if samples and count > 0:
            file.writeframesraw(ctypes.string_at(samples, 2 * count))
            written[0] += count
        return 0

    callback = CALLBACK(take)
    library.espeak_SetSynthCallback(callback)
    data = text.encode() + b"\0"
    if library.espeak_Synth(data, len(data), 0, CHARACTER, 0, UTF8, None, None) != 0:
        raise Refused("eSpeak NG could not speak that text")
    library.espeak_Synchronize()
    return written[0]


OPERATIONS = {"tts.synthesize": synthesize}
