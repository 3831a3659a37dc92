"""A crew of CrewAI in the shape of its first examples: tools by decorator and by class; one agent asks the other."""

from crewai import Agent, Crew, Process, Task
from crewai.tools import BaseTool, tool
from footprint import footprint
from pydantic import BaseModel, Field


@tool("Search The News")
def search_news(topic: str) -> str:
    """Search the news for a topic."""
    footprint("search_the_news")
    return f"{topic}: a model wins a medal, and a robot cooks."


class ReadInput(BaseModel):
    """What the reader of files takes."""

    title: str = Field(..., description="The title of the article.")
    paragraphs: int = Field(2, description="How many paragraphs to read.")


class ArticleReader(BaseTool):
    """A tool that is a class."""

    name: str = "article_reader"
    description: str = "Read an article of the archive."
    args_schema: type[BaseModel] = ReadInput

    def _run(self, title: str, paragraphs: int = 2) -> str:
        footprint("article_reader")
        return f"{title}, {paragraphs} paragraphs: robots learn to cook soup."


researcher = Agent(
    role="Researcher",
    goal="Find what is new on {topic}",
    backstory="You read everything.",
    llm="gpt-4.1-mini",
    tools=[search_news, ArticleReader()],
)
writer = Agent(
    role="Writer",
    goal="Write clearly",
    backstory="You like short sentences.",
    llm="gpt-4.1-mini",
    allow_delegation=True,
)
research = Task(
    description="Find the news on {topic}.", expected_output="A list of two items.", agent=researcher
)
writing = Task(description="Write a line on the list.", expected_output="One line.", agent=writer)
crew = Crew(agents=[researcher, writer], tasks=[research, writing], process=Process.sequential)
result = crew.kickoff(inputs={"topic": "robots"})
print(result.raw)
print([str(output.raw) for output in result.tasks_output])
