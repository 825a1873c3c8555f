/** A SARIF log that has text in every member that the service reads. */
export const RICH_SARIF = {
  version: '2.1.0',
  runs: [
    {
      tool: {
        driver: {
          name: 'scanner',
          rules: [{ id: 'weak', properties: { tags: ['CWE-327'] }, shortDescription: { text: 'DES' } }],
        },
      },
      automationDetails: { id: 'nightly/1' },
      versionControlProvenance: [{ repositoryUri: 'https://git.example.com/shop' }],
      results: [
        {
          ruleId: 'weak',
          message: { text: 'DES is used' },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: 'src/a.c' },
                region: { startLine: 1, snippet: { text: 'DES()' } },
              },
            },
          ],
        },
      ],
    },
  ],
};
const component = (name: string, cryptoProperties: object) => ({
  type: 'cryptographic-asset',
  'bom-ref': name,
  name,
  cryptoProperties: { ...cryptoProperties, oid: '1.2.840.113549.1.1.1' },
  evidence: { occurrences: [{ location: 'src/a.c', symbol: 'RSA_new', additionalContext: 'RSA_new()' }] },
});
/** A CycloneDX document with one component of each kind. */
export const RICH_BOM = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: 'urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79',
  version: 1,
  metadata: {
    timestamp: '2026-01-01T00:00:00Z',
    component: { type: 'application', group: 'org.example', name: 'shop', purl: 'pkg:maven/org.example/shop@1' },
    properties: [{ name: 'gitUrl', value: 'https://git.example.com/shop.git' }],
  },
  components: [
    component('RSA-2048', {
      assetType: 'algorithm',
      algorithmProperties: { primitive: 'pke', parameterSetIdentifier: '2048', curve: 'x', padding: 'oaep' },
    }),
    component('cert', {
      assetType: 'certificate',
      certificateProperties: {
        subjectName: 'CN=a',
        issuerName: 'CN=b',
        notValidBefore: '2026-01-01T00:00:00Z',
        certificateFormat: 'X.509',
      },
    }),
    component('tls', {
      assetType: 'protocol',
      protocolProperties: {
        type: 'tls',
        version: '1.3',
        cipherSuites: [{ name: 'TLS_AES_128_GCM_SHA256', identifiers: ['0x13', '0x01'] }],
      },
    }),
    component('key', {
      assetType: 'related-crypto-material',
      relatedCryptoMaterialProperties: { type: 'private-key', id: 'k', format: 'PEM' },
    }),
  ],
  dependencies: [{ ref: 'tls', dependsOn: ['RSA-2048'] }],
};
/** A sensor scan. */
export const RICH_SCAN = {
  scanId: '1',
  source: 'host a',
  assets: [
    {
      component: component('AES-128', { assetType: 'algorithm', algorithmProperties: { primitive: 'ae' } }),
      occurrence: { location: '/x', symbol: 'y', context: 'z' },
    },
  ],
};
