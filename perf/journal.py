"""What a long run keeps, so that it goes on where it was stopped: JSON lines, each on disk as it comes.

The first line says what the run is of. A last line that was cut when the run was killed counts for nothing. Only a run
that is of the same goes on; one that is complete is not gone on with."""

import json
import os
import pathlib
import sys
import time

SHOWN = 80  # characters of a setting in a message


def parsed(line):
    """The object that a whole line holds, or None."""
    try:
        entry = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:  # a machine that went down may leave anything
        return None
    return entry if isinstance(entry, dict) else None


def shown(value):
    if value is None:
        return "not set"
    text = value if isinstance(value, str) and value else json.dumps(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def differences(old, new, name=""):
    """A text for each setting that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{name} {key}".strip())
    elif old != new:
        yield f"{name} {change(old, new)}"


def change(old, new):
    """Of lists, only what they do not share."""
    lists = isinstance(old, list) and isinstance(new, list)
    gone = [each for each in old if each not in new] if lists else []
    come = [each for each in new if each not in old] if lists else []
    texts = [f"{verb} {shown(each)}" for verb, each in (("had", gone), ("has", come)) if each]
    return " and ".join(texts) or f"was {shown(old)} and is {shown(new)}"


class Journal:
    """`run`: what is run, such as "comparison"; `anew`: what to do to begin anew."""

    def __init__(self, path, program, run, anew):
        self.path, self.program, self.run, self.anew = pathlib.Path(path), program, run, anew
        self.about, self.entries, self.whole = None, [], 0
        if self.path.exists():
            self.read()

    def read(self):
        for line in self.path.read_bytes().splitlines(keepends=True):
            entry = parsed(line)
            if entry is None:
                break
            self.whole += len(line)
            if self.about is None:
                self.about = entry
            else:
                self.entries.append(entry)

    def begin(self, about, anew=False):
        """Goes on with what is there, or begins a journal; ends the program if it is of something else."""
        about = json.loads(json.dumps(about, default=str))
        if self.about is None and self.path.exists() and self.path.stat().st_size:
            raise SystemExit(f"{self.program}: {self.path} is not a journal; name another file")
        if self.about is None or anew or self.complete():
            return self.create(about)
        if found := list(differences(self.about, about)):
            raise SystemExit(f"{self.program}: {self.path} is of another {self.run}: {'; '.join(found)}; {self.anew}")
        os.truncate(self.path, self.whole)
        print(f"{self.program}: goes on from {self.path}", file=sys.stderr)

    def create(self, about):
        """The first line is there as a whole or not at all."""
        self.about, self.entries = about, []
        partial = self.path.with_name(self.path.name + ".part")
        partial.write_text(json.dumps(about) + "\n", encoding="utf-8")
        partial.replace(self.path)

    def add(self, entry):
        self.entries.append(entry)
        with self.path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")

    def finish(self):
        """From now on the same command begins anew."""
        self.add({"complete": now()})

    def complete(self):
        return bool(self.entries) and "complete" in self.entries[-1]


def now():
    return time.strftime("%Y-%m-%d %H:%M")
