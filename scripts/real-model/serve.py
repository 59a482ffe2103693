"""Serves a GGUF file on 127.0.0.1 with llama.cpp's HTTP server (package xllamacpp), which speaks both
of our dialects. Started by run.py; serves until it is ended.

usage: serve.py MODEL.gguf PORT CONTEXT TEMPLATE.jinja|- THREADS
"""

import sys
import threading

import xllamacpp

model, port, context, template, threads = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(context)
params.n_parallel = 1
params.use_jinja = True
params.warmup = False
params.ui = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
if template != "-":
    with open(template, encoding="utf-8") as file:
        params.chat_template = file.read()
server = xllamacpp.Server(params)
print("READY", server.listening_address, flush=True)
threading.Event().wait()
