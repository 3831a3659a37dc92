from boundary import log, send


class Agent:
    def __init__(self, name):
        self.name = name


def main():
    agents = {Agent("ann"), Agent("bob"), Agent("cid"), Agent("dan")}
    log([agent.name for agent in agents])  # harmless
    send(sorted(agent.name for agent in agents))
    send([agent.name for agent in agents])  # harmful
