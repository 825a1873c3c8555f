import { describe, expect, it } from 'vitest';
import { GROUPS, isPostQuantumGroup, SUITES_12, SUITES_13 } from '../../src/discovery/tls/tls-names.js';
import type { CdxComponent } from '../../src/inventory/model/document.js';
import { AssetGraph, type GraphAsset } from '../../src/inventory/judgement/risk/asset-graph.js';
import { traitsOf } from '../../src/inventory/judgement/risk/asset-traits.js';
import { DEFAULT_RULES } from '../../src/inventory/judgement/risk/default-rules.js';
import { RiskEngine } from '../../src/inventory/judgement/risk/risk-engine.js';
import { SubjectReader } from '../../src/inventory/judgement/risk/subject-reader.js';

const engine = new RiskEngine(DEFAULT_RULES);

function judge(kind: GraphAsset['kind'], name: string, cryptoProperties: object) {
  const component = { type: 'cryptographic-asset', name, cryptoProperties } as CdxComponent;
  const asset = { id: 'a', kind, name, traits: traitsOf(kind, component), edges: [] };
  return engine.judge(new SubjectReader(new AssetGraph([asset])).read(asset).subject);
}

const judgeGroup = (name: string) =>
  judge('algorithm', name, { assetType: 'algorithm', algorithmProperties: { primitive: 'key-agree' } });
const judgeSuite = (name: string) => {
  const protocolProperties = { type: 'tls', version: '1.2', cipherSuites: [{ name }] };
  return judge('protocol', 'TLS', { assetType: 'protocol', protocolProperties });
};

describe('the inventory knows every name that a TLS scan reports', () => {
  it.each(Object.keys(GROUPS))('the group %s', (name) => {
    const { status } = judgeGroup(name).quantum;
    expect(status).toMatch(isPostQuantumGroup(name) ? /^pq-/ : /^quantum-vulnerable$/);
  });

  it.each(Object.keys({ ...SUITES_12, ...SUITES_13 }))('the cipher suite %s', (name) => {
    const verdict = judgeSuite(name);
    const isWeak = /EXPORT|NULL|anon|RC4|_DES_|3DES|^TLS_RSA_/.test(name);
    expect(verdict.classical.status).toMatch(isWeak ? /^(broken|disallowed)$/ : /^acceptable-with-conditions$/);
  });
});
