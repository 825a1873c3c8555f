import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { preAuthEncoding } from '../../formats/encoding/dsse.js';
import { attestation } from '../formats/dsse.format.js';
import { provenanceStatement } from './provenance-statement.js';

const SUBJECT = [{ name: 'app.tar.gz', digest: { sha256: 'ab'.repeat(32) } }];
const identity = (claims: Record<string, unknown>) => ({
  id: 'run',
  trust: { id: 'trust', name: 'app releases' },
  claims,
  tokenSha256: 'TOKEN',
  keyThumbprint: 'KEY',
});
/** Parses the statement from JSON, as verifiers do. */
const predicateOf = (claims: Record<string, unknown>) =>
  JSON.parse(JSON.stringify(provenanceStatement(SUBJECT, identity(claims)))).predicate;

describe('the provenance of a run', () => {
  it('from GitHub Actions contains workflow, commit, runner and run', () => {
    const claims = {
      iss: 'https://token.actions.githubusercontent.com',
      sub: 'repo:org/app:ref:refs/tags/v1',
      repository: 'org/app',
      ref: 'refs/tags/v1',
      sha: 'c0ffee',
      event_name: 'push',
      run_id: '17',
      run_attempt: '2',
      runner_environment: 'github-hosted',
      workflow_ref: 'org/app/.github/workflows/release.yml@refs/tags/v1',
    };
    const { buildDefinition, runDetails } = predicateOf(claims);
    expect(buildDefinition.buildType).toBe('https://actions.github.io/buildtypes/workflow/v1');
    expect(buildDefinition.externalParameters.workflow).toEqual({
      ref: 'refs/tags/v1',
      repository: 'https://github.com/org/app',
      path: '.github/workflows/release.yml',
    });
    expect(buildDefinition.resolvedDependencies).toEqual([
      { uri: 'git+https://github.com/org/app@refs/tags/v1', digest: { gitCommit: 'c0ffee' } },
    ]);
    expect(runDetails).toEqual({
      builder: { id: 'https://github.com/actions/runner/github-hosted' },
      metadata: { invocationId: 'https://github.com/org/app/actions/runs/17/attempts/2' },
    });
  });

  it('contains the complete workflow ref, even for a branch with an @', () => {
    const workflowOf = (workflow: string, ref: string) =>
      predicateOf({
        iss: 'https://token.actions.githubusercontent.com',
        repository: 'org/app',
        run_id: '1',
        ref,
        workflow_ref: workflow,
      }).buildDefinition.externalParameters.workflow;
    const file = 'org/app/.github/workflows/release.yml';
    expect(workflowOf(`${file}@refs/heads/main@evil`, 'refs/heads/main@evil')).toMatchObject({
      ref: 'refs/heads/main@evil',
      path: '.github/workflows/release.yml',
    });
    expect(workflowOf(`${file}@refs/heads/main@evil`, 'refs/pull/1/merge').ref).toBe('refs/heads/main@evil');
  });

  it('does not name a GitHub server for an issuer that merely starts like the GitHub issuer', () => {
    const iss = 'https://token.actions.githubusercontent.com.evil.example';
    const { runDetails } = predicateOf({
      iss,
      repository: 'org/app',
      run_id: '1',
      workflow_ref: 'org/app/x@refs/heads/main',
    });
    expect(runDetails.builder.id).toBe(`${iss}/actions/runner/unknown`);
  });

  it('from GitLab CI contains project, commit, runner and job', () => {
    const { buildDefinition, runDetails } = predicateOf({
      iss: 'https://gitlab.example.com',
      sub: 'project_path:group/app:ref_type:tag:ref:v1',
      project_path: 'group/app',
      ref: 'v1',
      ref_path: 'refs/tags/v1',
      sha: 'c0ffee',
      job_id: '302',
      pipeline_id: '574',
      runner_id: 1,
    });
    expect(buildDefinition.resolvedDependencies[0].uri).toBe('git+https://gitlab.example.com/group/app@refs/tags/v1');
    expect(runDetails.builder.id).toBe('https://gitlab.example.com/-/runners/1');
    expect(runDetails.metadata.invocationId).toBe('https://gitlab.example.com/group/app/-/jobs/302');
  });

  it('names no repository if the token lists several, of which the trust may have accepted any', () => {
    const claims = {
      iss: 'https://token.actions.githubusercontent.com',
      repository: ['good/app', 'org/app'],
      ref: 'refs/tags/v1',
      sha: 'c0ffee',
      workflow_ref: ['good/app/.github/workflows/release.yml@refs/tags/v1', 'org/app/w.yml@refs/tags/v1'],
    };
    const { externalParameters, resolvedDependencies } = predicateOf(claims).buildDefinition;
    expect(JSON.stringify({ repository: externalParameters.workflow?.repository, resolvedDependencies })).not.toContain(
      'good/app',
    );
  });

  it('from any other issuer contains its claims unchanged', () => {
    const claims = {
      iss: 'https://cluster.example',
      sub: 'system:serviceaccount:ns:signer',
      'kubernetes.io': { namespace: 'ns' },
    };
    const { buildDefinition, runDetails } = predicateOf({ ...claims, jti: 'x', exp: 1 });
    expect(buildDefinition.internalParameters.claims).toEqual({
      sub: claims.sub,
      'kubernetes.io': claims['kubernetes.io'],
    });
    expect(runDetails.builder.id).toBe('https://cluster.example');
  });
});

describe('an attestation', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKey = pair.publicKey.export({ format: 'der', type: 'spki' });
  const content = Buffer.from(
    JSON.stringify(provenanceStatement(SUBJECT, identity({ iss: 'https://i.example', sub: 's' }))),
  );
  const order = {
    digest: Buffer.alloc(32),
    algorithm: 'sha256',
    scheme: 'ecdsa-der',
    keyType: 'ec-p256',
    publicKey,
    keyName: 'id.1',
    chain: [],
    madeAt: new Date(),
    content,
  } as const;
  const signature = sign('sha256', attestation.toBeSigned(order, new Date()) ?? Buffer.alloc(0), pair.privateKey);
  const bundle = JSON.parse(attestation.assemble(order, undefined, { signature }).toString());
  const trust = toTrustMaterial(
    { mediaType: '', certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
    () => ({ publicKey: pair.publicKey, validFor: () => true }),
  );
  const verifier = () => new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  const check = (json: object) => () => verifier().verify(toSignedEntity(bundleFromJSON(json)));

  it('is a DSSE envelope accepted by @sigstore/verify', () => {
    expect(check(bundle)).not.toThrow();
    expect(JSON.parse(Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString()).subject).toEqual(SUBJECT);
  });

  it('does not verify with a different statement or type', () => {
    const payload = Buffer.from('{}').toString('base64');
    expect(check({ ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } })).toThrow(/signature/);
    const payloadType = 'application/json';
    expect(check({ ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payloadType } })).toThrow(/signature/);
  });

  it('has a Rekor entry of the kind dsse', () => {
    const record = JSON.parse(attestation.record?.(order, signature) ?? '{}');
    expect(record).toMatchObject({ kind: 'dsse', apiVersion: '0.0.1' });
    expect(Buffer.from(record.spec.signatures[0].verifier, 'base64').toString()).toBe(
      createPublicKey({ key: publicKey, format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }),
    );
  });

  it('is signed over byte lengths, as DSSE requires', () => {
    expect(preAuthEncoding('http://example.com/HelloWorld', Buffer.from('hello world')).toString()).toBe(
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    );
    expect(preAuthEncoding('t', Buffer.from('é')).toString()).toBe('DSSEv1 1 t 2 é');
  });
});
