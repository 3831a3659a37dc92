'''Plugins, whose functions the model knows as Plugin-function.'''
import json
import openai
from tests.agents.footprint import left

def kernel_function(**schema):
    def mark(method):
        method.__kernel_function__ = schema
        return method
    return mark

class WeatherPlugin:
    @kernel_function(city='string', days='integer')
    def get_forecast(self, city, days):
        left('WeatherPlugin-get_forecast')
        return [{'day': d, 'city': city, 'high': 18 + d} for d in range(days)]

class MailPlugin:
    def __init__(self):
        self.outbox = []

    @kernel_function(to='string', body='string')
    def send(self, to, body):
        left('MailPlugin-send')
        self.outbox.append((to, body))
        return {'queued': len(self.outbox), 'to': to}

    def count(self):
        return len(self.outbox)

class Kernel:
    def __init__(self):
        self.plugins = {}

    def add_plugin(self, plugin):
        self.plugins[type(plugin).__name__] = plugin

    def functions(self):
        for plugin_name, plugin in self.plugins.items():
            for name in dir(plugin):
                schema = getattr(getattr(plugin, name), '__kernel_function__', None)
                if schema is not None:
                    yield {'type': 'function', 'function': {
                        'name': '%s-%s' % (plugin_name, name),
                        'parameters': {'type': 'object', 'required': list(schema),
                                       'properties': {k: {'type': v} for k, v in schema.items()}}}}

    def invoke(self, full_name, arguments):
        plugin_name, name = full_name.split('-', 1)
        return getattr(self.plugins[plugin_name], name)(**arguments)

kernel = Kernel()
kernel.add_plugin(WeatherPlugin())
mail = MailPlugin()
kernel.add_plugin(mail)

client = openai.OpenAI()
chat_history = [{'role': 'user', 'content': 'Mail Joan the forecast of Bergen for two days.'}]
while True:
    result = client.chat.completions.create(model='gpt-4o', messages=chat_history, tools=list(kernel.functions()))
    message = result.choices[0].message
    chat_history.append(message)
    if not message.tool_calls:
        break
    for tool_call in message.tool_calls:
        value = kernel.invoke(tool_call.function.name, json.loads(tool_call.function.arguments))
        chat_history.append({'role': 'tool', 'tool_call_id': tool_call.id, 'content': json.dumps(value)})
print(message.content, mail.count())
