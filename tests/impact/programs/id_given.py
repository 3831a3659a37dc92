from boundary import log, send


class Job:
    pass


def main():
    jobs = [Job(), Job(), Job()]
    send("job", key=id(jobs[0]))  # harmful
    log(id(jobs[1]))  # harmless
    table = {id(job): number for number, job in enumerate(jobs)}
    send("first", number=table[id(jobs[2])])
