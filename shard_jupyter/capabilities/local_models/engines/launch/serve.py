"""Child program: serve one GGUF file on a free port of the loopback interface.

Run as a file by an isolated interpreter, so it uses the standard library and the engine only. It
ends with whoever started it: on Linux the kernel kills it, elsewhere the end of the lifeline tells
it. Where `LISTEN url` is written to the lifeline, the port is bound already.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

KEY_VARIABLE = "LLAMA_API_KEY"
CACHE_MIB = 128
"""What the engine may keep of earlier prompts; left alone it takes up to 8 GB."""
ALL_LAYERS = 999
_PR_SET_PDEATHSIG = 1


def main() -> None:
    options = _read_options()
    _die_with(options.parent)
    lifeline = socket.socket(fileno=options.lifeline)
    if options.site and options.site not in sys.path:
        sys.path.insert(0, options.site)
    serve = {
        "xllamacpp": _serve_with_xllamacpp,
        "llama-cpp-python": _serve_with_llama_cpp,
        "llama-server": _become_llama_server,
    }[options.engine]
    serve(options, lifeline)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--lifeline", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--idle", type=int, required=True)
    parser.add_argument("--site", default="")
    parser.add_argument("--program", default="")
    parser.add_argument("--cpu-only", action="store_true")
    return parser.parse_args()


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before the kernel was told
        os._exit(1)


def _say(lifeline: socket.socket, word: str) -> None:
    lifeline.sendall(f"{word}\n".encode())


def _serve_with_xllamacpp(options: argparse.Namespace, lifeline: socket.socket) -> None:
    """Serve. While the model loads the interpreter stands still, so a signal takes its default."""
    engine: Any = importlib.import_module("xllamacpp")
    gpu = not options.cpu_only and _has_gpu(engine)
    if gpu:
        _say(lifeline, "GPU")
    params = engine.CommonParams()
    params.model.path = options.model
    params.n_ctx = options.context
    params.n_parallel = 1
    params.use_jinja = True
    params.ui = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [os.environ[KEY_VARIABLE]]
    params.warmup = False
    params.cache_ram_mib = CACHE_MIB
    params.sleep_idle_seconds = options.idle
    params.n_gpu_layers = ALL_LAYERS if gpu else 0
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    server = engine.Server(params)
    _say(lifeline, f"LISTEN {server.listening_address}")
    _stand_watch(lifeline)


def _has_gpu(engine: ModuleType) -> bool:
    return any("GPU" in str(device["type"]) for device in engine.get_device_info())


def _serve_with_llama_cpp(options: argparse.Namespace, lifeline: socket.socket) -> None:
    """Serve from a thread: loading does not hold the interpreter, so the watch begins before."""
    _in_thread(lambda: _run_llama_cpp(options, lifeline))
    _stand_watch(lifeline)


def _run_llama_cpp(options: argparse.Namespace, lifeline: socket.socket) -> None:
    llama_cpp: Any = importlib.import_module("llama_cpp")
    app_module: Any = importlib.import_module("llama_cpp.server.app")
    settings: Any = importlib.import_module("llama_cpp.server.settings")
    uvicorn: Any = importlib.import_module("uvicorn")
    gpu = not options.cpu_only and bool(llama_cpp.llama_supports_gpu_offload())
    if gpu:
        _say(lifeline, "GPU")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = app_module.create_app(
        server_settings=settings.ServerSettings(
            host="127.0.0.1",
            port=port,
            api_key=os.environ[KEY_VARIABLE],
            interrupt_requests=False,  # else the request of one agent ends that of another
        ),
        model_settings=[
            settings.ModelSettings(
                model=options.model,
                n_ctx=options.context,
                n_threads=options.threads,
                n_threads_batch=options.threads,
                n_gpu_layers=-1 if gpu else 0,
                logits_all=False,
            )
        ],
    )
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    _say(lifeline, f"LISTEN http://127.0.0.1:{port}")
    server.run(sockets=[listener])


def _in_thread(work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the process ends with it, whatever it is
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)

    threading.Thread(target=run, daemon=True).start()


def _become_llama_server(options: argparse.Namespace, lifeline: socket.socket) -> None:
    """Be replaced by the program; what the kernel was told outlives that. Its log says the port."""
    lifeline.set_inheritable(True)
    argv = [
        options.program, "--model", options.model, "--host", "127.0.0.1", "--port", "0",
        "--ctx-size", str(options.context), "--parallel", "1", "--jinja", "--no-webui",
        "--no-warmup", "--threads", str(options.threads), "--threads-batch", str(options.threads),
    ]  # fmt: skip
    if options.cpu_only:
        argv += ["--device", "none"]
    # In the environment, because a build that does not know it would refuse it as an option.
    os.environ["LLAMA_ARG_CACHE_RAM"] = str(CACHE_MIB)
    os.execv(options.program, argv)  # noqa: S606 - a program of the person's own, and no shell


def _stand_watch(lifeline: socket.socket) -> None:
    """End in good order when asked to, and hard when whoever started this is gone.

    A native thread may get the signal; only the wake-up descriptor then reaches this one.
    """
    inlet, outlet = socket.socketpair()
    outlet.setblocking(False)
    signal.set_wakeup_fd(outlet.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _note)
    while True:
        ready, _, _ = select.select([inlet, lifeline], [], [])
        if inlet in ready:
            os._exit(0)  # destructors of native code may hang, and there is nothing to save
        if not lifeline.recv(64):
            os._exit(1)


def _note(_number: int, _frame: FrameType | None) -> None:
    """Take the signal from its default, which would end the process at once."""


if __name__ == "__main__":
    main()
