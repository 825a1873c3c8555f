import type { Mutation } from './mutation.js';

const ROWS = 'test/audit/forged-rows.spec.ts';
const RIGHTS = 'test/audit/forged-rights.spec.ts';
const CATALOGUE = 'test/audit/forged-catalogue.spec.ts';
const LOGGED = 'src/approvals/decisions/logged-approvals.ts';

/** Somebody owns the database: findings 27 and 28. */
export const OWNER: readonly Mutation[] = [
  {
    finding: 27,
    defence: 'a row that grants something counts only with its seal',
    file: 'src/platform/sealing/row-seals.ts',
    text: 'if (row === null || !this.demandsSealOf(entity) || this.matches(entity, row)) return row;',
    instead: 'if (row === null || row.seal !== undefined || this.matches(entity, row)) return row;',
    spec: ROWS,
    test: 'is not given by sessions that were inserted',
  },
  {
    finding: 27,
    defence: 'a vote needs a vouched sign-in of its session',
    file: LOGGED,
    text: 'if (signIn === undefined || ended.length > 0) throw sessionUnknown();',
    instead: `if (signIn === undefined) return '';`,
    spec: ROWS,
    test: 'is not given in a session whose sign-in the log does not have, however its row is sealed',
  },
  {
    finding: 27,
    defence: 'policies count only as the set that the service wrote last',
    file: 'src/approvals/policies/policy-set.ts',
    text: 'if (isWhole || !seals.demandsSealOf(ApprovalPolicyRevision)) return policies;',
    instead: 'if (isWhole || policies.length >= 0) return policies;',
    spec: ROWS,
    test: 'is not avoided by deleting, changing or restoring the policy',
  },
  {
    finding: 28,
    defence: 'a person votes only with the rights that the whole signed log gives',
    file: LOGGED,
    text: 'if (objection !== undefined) throw rightsEnded(objection);',
    instead: '',
    spec: RIGHTS,
    test: 'does not vote in a new session after their account was put back',
  },
  {
    finding: 28,
    defence: 'an entry that was removed from the log is missed before a vote',
    file: 'src/audit/history/rights-ledger.ts',
    text: 'if (state.damaged === undefined) return',
    instead: 'if (state.damaged !== -1) return',
    spec: RIGHTS,
    test: 'is not given while an entry of the log is missing',
  },
  {
    finding: 28,
    defence: 'a process refuses an earlier state of an account than it has read',
    file: 'src/platform/sealing/row-seals.ts',
    text: 'if (revision < known) {',
    instead: 'if (revision < 0) {',
    spec: RIGHTS,
    test: 'has no use for an earlier password',
  },
  {
    finding: 28,
    defence: 'the parties of a renewed approval are those of the log',
    file: LOGGED,
    text: 'const { ownerId, requesters, requestedBy, requesterName } = logged.parties ?? approval;',
    instead: 'const { ownerId, requesters, requestedBy, requesterName } = approval;',
    spec: RIGHTS,
    test: 'does not approve their own request after the parties',
  },
  {
    finding: 28,
    defence: 'the sealed row of a credential lists who was shown its secret',
    file: 'src/auth/rights/secret-disclosures.ts',
    text: 'people.push(...(row?.disclosedTo ?? []));',
    instead: '',
    spec: RIGHTS,
    test: 'is everybody who was shown the secret',
  },
  {
    finding: 28,
    defence: 'uploaded keys without a known uploader give nothing',
    file: 'src/auth/rights/effective-rights.ts',
    text: `if (issuer.keySource !== 'uploaded') return [its];
  const uploaderId = issuer.uploaderId ?? recorded;`,
    instead: `if (issuer.keySource !== 'uploaded' || recorded === null) return [its];
  const uploaderId = recorded;`,
    spec: RIGHTS,
    test: 'are void with the rights of who uploaded them',
  },
  {
    finding: 28,
    defence: 'objects that the migrations did not make are found',
    file: 'src/platform/catalogue/catalogue-rules.ts',
    text: 'return found.filter((object) => !isOurs(object))',
    instead: 'return found.filter(() => false)',
    spec: CATALOGUE,
    test: 'finds',
  },
  {
    finding: 28,
    defence: 'nobody votes while the database has such objects',
    file: 'src/platform/catalogue/catalogue-check.ts',
    text: '    if (found.length === 0) return;\n    const detail',
    instead: '    if (found.length >= 0) return;\n    const detail',
    spec: RIGHTS,
    test: 'is not given while a trigger of somebody else is there',
  },
];
