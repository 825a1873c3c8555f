import groovy.json.JsonSlurper

/**
 * Runs a step of a shared library as a Jenkins build does. The steps that the library calls behave like the steps in Jenkins. Environment:
 * LIBRARY (directory of the library), STEP (name of the step), OPTIONS (argument of the step, JSON), CREDENTIALS (texts by ID, JSON) and
 * BUILD_TAG. Exits with the exit code of the last `sh`.
 */
class Build extends Script {
  Map variables = [:]

  def run() {}
  def getEnv() { [BUILD_TAG: System.getenv('BUILD_TAG')] }
  def string(Map binding) { binding }
  def libraryResource(String name) { new File(System.getenv('LIBRARY'), "resources/$name").text }

  def withCredentials(List bindings, Closure body) {
    def texts = new JsonSlurper().parseText(System.getenv('CREDENTIALS'))
    within(bindings.collectEntries { [(it.variable): texts[it.credentialsId]] }, body)
  }

  def withEnv(List pairs, Closure body) {
    within(pairs.collectEntries { it.toString().split('=', 2).toList() }, body)
  }

  def within(Map more, Closure body) {
    def before = variables
    variables = before + more
    try { body() } finally { variables = before }
  }

  // A script without an interpreter line runs with -xe, so that every command appears in the build log.
  def sh(Map order) {
    def file = File.createTempFile('script', '.sh')
    file.text = order.script
    file.executable = true
    def command = order.script.startsWith('#!') ? [file.path] : ['sh', '-xe', file.path]
    def builder = new ProcessBuilder(command).inheritIO()
    variables.each { name, value -> builder.environment()[name] = value.toString() }
    def code = builder.start().waitFor()
    file.delete()
    if (code != 0) throw new AbortException(code)
  }
}

class AbortException extends RuntimeException {
  int code
  AbortException(int code) { super("script returned exit code $code"); this.code = code }
}

def settings = new org.codehaus.groovy.control.CompilerConfiguration(scriptBaseClass: Build.name)
def step = new GroovyShell(getClass().classLoader, settings).parse(new File(System.getenv('LIBRARY'), "vars/${System.getenv('STEP')}.groovy"))
try {
  step.call(new JsonSlurper().parseText(System.getenv('OPTIONS')) as Map)
} catch (AbortException aborted) {
  System.err.println("ERROR: $aborted.message")
  System.exit(aborted.code)
}
