/**
 * Signs files with the ID token that the OpenID Connect Provider plugin issues to this build. No secret is stored: the credential is of
 * the kind "OpenID Connect id token", which contains an audience but no token.
 *
 *   sealwrightSign url: 'https://sign.example.com', key: 'release', files: ['app.tar.gz'], identity: 'sealwright'
 *
 * identity: ID of the credential. trust, format (raw), timestamp (false), wait (600 seconds), client: as in docs/pipelines.md.
 */
def call(Map options) {
  withCredentials([string(credentialsId: options.identity, variable: 'SEALWRIGHT_ID_TOKEN')]) {
    withEnv([
      "SEALWRIGHT_URL=${options.url}",
      "SEALWRIGHT_KEY=${options.key}",
      "SEALWRIGHT_FILES=${options.files.join('\n')}",
      "SEALWRIGHT_TRUST=${options.trust ?: ''}",
      "SEALWRIGHT_FORMAT=${options.format ?: 'raw'}",
      "SEALWRIGHT_TIMESTAMP=${options.timestamp ?: false}",
      "SEALWRIGHT_CLIENT=${options.client ?: ''}",
      "SEALWRIGHT_WAIT=${options.wait ?: 600}",
      "SEALWRIGHT_RUN=${env.BUILD_TAG}",
    ]) {
      sh label: 'Sign with Sealwright', script: libraryResource('sealwright-sign.sh')
    }
  }
}
