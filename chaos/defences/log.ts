import type { Mutation } from './mutation.js';

const LOG_KEY = 'test/hsm/log-key.spec.ts';
const REWRITTEN = 'test/audit/rewritten-log.spec.ts';
const EVIDENCE = 'src/verifier/evidence.spec.ts';
const TOKEN_LOG = 'src/hsm/pkcs11/token-log.ts';
const SEQUENCER = 'src/audit/log/log-sequencer.ts';
const VERIFIER = 'src/verifier/evidence-verifier.ts';

/** Defences of the audit log against the operator of the service: findings 12, 17 and 18. */
export const LOG: readonly Mutation[] = [
  {
    finding: 12,
    defence: "a request uses a key only if the key's label in the token matches purpose and owner",
    file: 'src/hsm/pkcs11/key-directory.ts',
    text: 'labels.includes(this.attribute(object, CKA.LABEL).toString())',
    instead: 'true',
    spec: LOG_KEY,
    test: 'whatever the database contains, a request',
  },
  {
    finding: 12,
    defence: "a sealed key's label is in its associated data",
    file: 'src/hsm/pkcs11/software-keys.ts',
    text: "return Buffer.from(label === '' ? place : `${place}\\0${label}`);",
    instead: 'return Buffer.from(place);',
    spec: LOG_KEY,
    test: 'cannot open a sealed key for another purpose or owner',
  },
  {
    finding: 17,
    defence: 'no checkpoint is signed for a tree that does not extend the previous one',
    file: TOKEN_LOG,
    text: `      if (!continues(start, { size, root, proof: order.proof })) return { kind: 'held', why: 'forked', anchor: start };`,
    instead: '',
    spec: LOG_KEY,
    test: 'no shorter tree',
  },
  {
    finding: 17,
    defence: 'no checkpoint is signed for a smaller tree',
    file: TOKEN_LOG,
    text: `      if (size < start.size) return { kind: 'held', why: 'rolled-back', anchor: start };`,
    instead: '',
    spec: LOG_KEY,
    test: 'no shorter tree',
  },
  {
    finding: 17,
    defence: 'no checkpoint is signed with another key than the previous one',
    file: TOKEN_LOG,
    text: `      if (!key.ckaId.equals(start.ckaId)) return { kind: 'held', why: 'other-key', anchor: start };`,
    instead: '',
    spec: LOG_KEY,
    test: 'and not one of another key, even if that is also a log key',
  },
  {
    finding: 17,
    defence: 'a log without an anchor starts only from a note with its own key and name',
    file: TOKEN_LOG,
    text: '    if (signed?.origin !== origin) return undefined;',
    instead: `    if (signed === undefined) return { origin, ckaId: key.ckaId, size: 0, root: EMPTY_ROOT, since: Date.now() };`,
    spec: LOG_KEY,
    test: 'and continues a log started by an earlier version, from a checkpoint signed by its key',
  },
  {
    finding: 17,
    defence: 'list, export and checks detect an entry without a leaf',
    file: 'src/audit/log/log-gaps.ts',
    text: 'export const IS_UNLOGGED = `NOT EXISTS (SELECT FROM log_waiting w',
    instead: 'export const IS_UNLOGGED = `false AND NOT EXISTS (SELECT FROM log_waiting w',
    spec: REWRITTEN,
    test: 'reports an inserted entry as one without a leaf in every check, and covers it by no',
  },
  {
    finding: 17,
    defence: 'an entry that the service did not seal becomes a leaf marked as foreign',
    file: SEQUENCER,
    text: "  if (!(await isOwn(row))) return ['foreign'];\n",
    instead: '',
    spec: REWRITTEN,
    test: 'turns an inserted entry with a waiting row into a leaf marked as not written by',
  },
  {
    finding: 17,
    defence: "a checkpoint in the database is valid only with the log key's signature",
    file: 'src/verifier/log-verifier.ts',
    text: `if (this.checkpoint === undefined) this.found('the checkpoint is not signed with the log key');`,
    instead: '',
    spec: REWRITTEN,
    test: 'rejects an inserted checkpoint',
  },
  {
    finding: 18,
    defence: 'the log determines whether an approval is required',
    file: 'src/verifier/evidence-approval.ts',
    text: '  if (logged !== approvalId)',
    instead: '  if (logged === undefined && approvalId !== undefined)',
    spec: EVIDENCE,
    test: 'requires exactly the approval in the log',
  },
  {
    finding: 18,
    defence: 'public key and attributes are compared with the log',
    file: VERIFIER,
    text: '      ...faultsOfKey(evidence, logged),',
    instead: '',
    spec: EVIDENCE,
  },
  {
    finding: 18,
    defence: 'a step that was removed from the file is detected',
    file: VERIFIER,
    text: '      ...faultsOfSteps(evidence, facts),',
    instead: '',
    spec: EVIDENCE,
  },
];
