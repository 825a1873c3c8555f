import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { faultsOfApproval, unsaidOfApproval } from './evidence-approval.js';
import type { EvidenceFile } from './evidence-file.js';

const SHOWN = {
  requestId: 'request',
  digest: 'digest',
  algorithm: 'sha256',
  scheme: 'ecdsa-der',
  format: 'raw',
  key: { name: 'release', version: 1 },
  requester: { person: 'ann' },
};
const HASH = createHash('sha256').update(canonicalJson(SHOWN)).digest('base64');

interface Case {
  readonly voters: readonly string[];
  /** Users who were shown a secret of the requesting credential. */
  readonly requesters?: readonly string[];
  /** The hash that the votes approve. */
  readonly hash?: string;
  /** Two stages with one vote each instead of one stage with two votes. */
  readonly inStages?: boolean;
  /** Earlier outcome of the approval in the log, before the outcome APPROVED. */
  readonly ended?: string;
}

/** Returns evidence of a request that two members of the group "release" must approve. */
function evidenceWith({ voters, requesters = [], hash = HASH, inStages = false, ended }: Case): EvidenceFile {
  const fact = (action: string, target: string, actor: string, detail: object) => ({
    index: 0,
    kind: 'entry' as const,
    data: Buffer.from(JSON.stringify({ action, target: { id: target }, actor: { id: actor }, detail })).toString(
      'base64',
    ),
    path: [],
  });
  const stage = (threshold: number) => ({ group: 'release', threshold });
  const stages = inStages ? [stage(1), stage(1)] : [stage(2)];
  const leaves = [
    fact('signing.accepted', 'request', 'ann', { approval: 'approval', to: 'PENDING_APPROVAL' }),
    fact('approval.requested', 'approval', 'ann', { hash: HASH, stages, requesters, subject: 'signing-request' }),
    ...voters.map((voter, at) => fact('approval.approved', 'approval', voter, { stage: inStages ? at : 0, hash })),
    ...(ended === undefined ? [] : [fact('approval.decided', 'approval', 'ben', { to: ended })]),
    fact('approval.decided', 'approval', 'approvals', { to: 'APPROVED' }),
  ];
  const { requestId, digest, algorithm, scheme, format } = SHOWN;
  return {
    request: { requestId, digest, algorithm, scheme, format, approvalId: 'approval' },
    key: { name: 'release', version: 1, publicKey: '' },
    approval: { shown: SHOWN },
    log: { publicKey: '', checkpoint: '', leaves },
  };
}

describe('an approval by two people', () => {
  it('is valid when two of them approved', () => {
    expect(faultsOfApproval(evidenceWith({ voters: ['ben', 'cleo'] }))).toEqual([]);
    expect(faultsOfApproval(evidenceWith({ voters: ['ben', 'cleo'], inStages: true }))).toEqual([]);
  });

  it('is invalid when one person approved both stages', () => {
    const faults = faultsOfApproval(evidenceWith({ voters: ['ben', 'ben'], inStages: true }));
    expect(faults).toEqual(['only 0 of the required 1 members of release approved']);
  });

  it('is invalid when the log records an earlier rejection', () => {
    const faults = faultsOfApproval(evidenceWith({ voters: ['ben', 'cleo'], ended: 'REJECTED' }));
    expect(faults).toEqual(['according to the log, the approval ended as REJECTED']);
  });

  it.each<[string, Case]>([
    ['one person twice', { voters: ['ben', 'ben'] }],
    ['the requester', { voters: ['ben', 'ann'] }],
    ['a person who was shown a secret of the requester', { voters: ['ben', 'cleo'], requesters: ['cleo'] }],
    ['one who said yes to another document', { voters: ['ben', 'cleo'], hash: 'another' }],
  ])('is invalid with %s', (_, votes) => {
    expect(faultsOfApproval(evidenceWith(votes))).toEqual([
      expect.stringMatching(/^only [01] of the required 2 members of release approved$/),
    ]);
  });
});

describe('an approval whose history was logged with the claim of the request', () => {
  const fact = (action: string, id: string, actor: string, detail: object, target = 'approval') => ({
    index: 0,
    kind: 'entry' as const,
    data: Buffer.from(JSON.stringify({ id, action, target: { id: target }, actor: { id: actor }, detail })).toString(
      'base64',
    ),
    path: [],
  });
  const stage = { group: 'release', threshold: 1 };
  const yes = (id: string, actor: string, at = 0) => fact('approval.approved', id, actor, { stage: at, hash: HASH });
  const rules = { hash: HASH, requesters: [], subject: 'signing-request', rejectThreshold: 2, stages: [stage] };
  const entries = [
    fact('approval.requested', 'asked', 'ann', rules),
    fact('approval.rejected', 'no', 'dan', { stage: 0, hash: HASH }),
    yes('first', 'ben'),
    fact('approval.decided', 'decided', 'ben', { to: 'APPROVED' }),
    fact('approval.extended', 'extended', 'approvals', { ...rules, stages: [stage, stage] }),
    yes('second', 'cleo', 1),
    fact('approval.decided', 'again', 'cleo', { to: 'APPROVED' }),
  ];
  const ids = ['asked', 'no', 'first', 'decided', 'extended', 'second', 'again'];
  const faults = (leaves: readonly ReturnType<typeof fact>[]) => {
    const file = evidenceWith({ voters: [] });
    const own = [
      fact('signing.accepted', 'accepted', 'ann', { approval: 'approval', to: 'PENDING_APPROVAL' }, 'request'),
      fact('signing.claimed', 'claimed', 'worker', { attempt: 1, approvalEntries: ids }, 'request'),
      fact('signing.signed', 'signed', 'worker', { attempt: 1 }, 'request'),
    ];
    const evidence = { ...file, log: { ...file.log, leaves: [...own, ...leaves] } };
    return { faults: faultsOfApproval(evidence), unsaid: unsaidOfApproval(evidence) };
  };
  const without = (...left: number[]) => entries.filter((_, at) => !left.includes(at));

  it('is valid with all of its entries, and with later ones about other requests of its batch', () => {
    expect(faults(entries)).toEqual({ faults: [], unsaid: [] });
    const extended = { ...rules, stages: [stage, stage, stage] };
    const later = fact('approval.extended', 'later', 'approvals', extended);
    expect(faults([...entries, later])).toEqual({ faults: [], unsaid: [] });
  });

  it('is invalid if the entry of a rejection, or of an extension and all later entries, is missing', () => {
    expect(faults(without(1)).faults).toEqual(['entries about its approval are missing: 1']);
    expect(faults(without(4, 5, 6)).faults).toEqual(['entries about its approval are missing: 3']);
  });

  it('is valid without this history if an earlier version claimed the request, but the result states so', () => {
    const file = evidenceWith({ voters: ['ben', 'cleo'] });
    expect(faultsOfApproval(file)).toEqual([]);
    expect(unsaidOfApproval(file)).toEqual([
      expect.stringContaining('does not show whether the approval had other votes'),
    ]);
  });
});

describe('a vote that references the sign-in of its session', () => {
  const fact = (action: string, id: string, target: string, actor: string, detail: object) => ({
    index: 0,
    kind: 'entry' as const,
    data: Buffer.from(JSON.stringify({ id, action, target: { id: target }, actor: { id: actor }, detail })).toString(
      'base64',
    ),
    path: [],
  });
  const evidence = (signIns: ReturnType<typeof fact>[]): EvidenceFile => {
    const file = evidenceWith({ voters: ['ben'] });
    const detail = { stage: 0, hash: HASH, session: 'session', signIn: 'entry' };
    const vote = fact('approval.approved', 'vote', 'approval', 'cleo', detail);
    return { ...file, log: { ...file.log, leaves: [...file.log.leaves, vote], signIns } };
  };

  it('is valid with the entry about that sign-in', () => {
    const signIn = fact('auth.signed-in', 'entry', 'cleo', 'cleo', { session: 'session' });
    expect(faultsOfApproval(evidence([signIn]))).toEqual([]);
  });

  it('is invalid without that entry, and with a sign-in of another person or session', () => {
    expect(faultsOfApproval(evidence([]))).toEqual(['the sign-in of the approver cleo is missing']);
    const others = [
      fact('auth.signed-in', 'entry', 'ben', 'ben', { session: 'session' }),
      fact('auth.signed-in', 'entry', 'cleo', 'cleo', { session: 'another' }),
    ];
    for (const other of others)
      expect(faultsOfApproval(evidence([other]))).toEqual(['cleo approved in a session of a different sign-in']);
    const refused = fact('auth.refused', 'entry', 'cleo', 'cleo', { session: 'session' });
    expect(faultsOfApproval(evidence([refused]))).toEqual(['the sign-in of the approver cleo is missing']);
  });
});
