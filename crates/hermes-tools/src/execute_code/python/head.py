"""Tools of the session for this script.

Every function returns the tool's result as a dict; what went wrong is under "error". Functions may be
called from several threads at once.
"""

import json as _json
import os as _os
import shlex as _shlex
import threading as _threading
import time as _time
