from boundary import log, send


class Tool:
    pass


def main():
    tool = Tool()
    send(f"use {tool} now")  # harmful
    log(f"used {tool}")  # harmless
    send("call " + str(main))  # harmful
    print(tool, file=__import__("sys").stderr)  # harmless
