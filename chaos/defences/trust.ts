import type { Mutation } from './mutation.js';

const JUDGEMENT = 'src/approvals/policies/policy-judgement.ts';
const JUDGEMENT_SPEC = 'src/approvals/policies/policy-judgement.spec.ts';
const VERIFY = 'test/signing/verify.spec.ts';
const CHANGES = 'test/approvals/policy-changes.spec.ts';

/** Defences for values chosen by a sender or caller, and for requests that are pending when rules change: findings 22 to 26. */
export const TRUST: readonly Mutation[] = [
  {
    finding: 22,
    defence: 'a certificate in a message counts only if it was onboarded for the key',
    file: 'src/signing/verification/certificate-check.ts',
    text: 'own !== undefined && (leaf === undefined || own.raw.equals(leaf.raw))',
    instead: 'own !== undefined',
    spec: 'test/signing/certificate-check.spec.ts',
    test: 'an expired onboarded certificate is not replaced by a valid one that only the message',
  },
  {
    finding: 22,
    defence: 'the signed attribute names the certificate of the signer',
    file: 'src/signing/verification/certificate-check.ts',
    text: 'certificateIds.every((ids) => isNamedBy(ids, chain))',
    instead: 'chain.length > 0',
    spec: VERIFY,
    test: 'cms: is rejected with another onboarded certificate of its key, because its signed',
  },
  {
    finding: 22,
    defence: 'a timestamp names the certificate of its authority',
    file: 'src/signing/timestamping/timestamp-check.ts',
    text: '  assertNamed(own, signer);',
    instead: '',
    spec: VERIFY,
    test: 'timestamp token: requires the TSA certificate that the token names, with a known root',
  },
  {
    finding: 23,
    defence: 'a condition on what the caller chooses holds for a signature over its own digest',
    file: JUDGEMENT,
    text: 'return interchangeable.includes(condition.fact) ? { ...judgement, holds: true } : judgement;',
    instead: 'return interchangeable.length > 99 ? { ...judgement, holds: true } : judgement;',
    spec: JUDGEMENT_SPEC,
    test: ', because the signature can be moved into any format',
  },
  {
    finding: 23,
    defence: 'an exception on what callers choose never holds',
    file: JUDGEMENT,
    text: 'return isExceptionFact(condition.fact) ? judgement : { ...judgement, holds: false };',
    instead: 'return judgement;',
    spec: JUDGEMENT_SPEC,
    test: 'never holds, even if an earlier version stored it',
  },
  {
    finding: 24,
    defence: 'the last vote is judged by the policies of now',
    file: 'src/approvals/decisions/approval-moves.ts',
    text: 'this.extension.extend(tx, approval, demand, votes)',
    instead: 'this.extension.extend(tx, approval, undefined, votes)',
    spec: CHANGES,
    test: 'goes to the group of a new policy after the last vote, and earlier votes still count',
  },
  {
    finding: 24,
    defence: 'an approved request is judged by the policies of now when it is claimed',
    file: 'src/signing/requests/approval-renewal.ts',
    text: 'claimed.filter((one) => fallsShort || isRotated(one, versions))',
    instead: 'claimed.filter((one) => isRotated(one, versions))',
    spec: CHANGES,
    test: 'waits for the new stages when a worker claims it',
  },
  {
    finding: 25,
    defence: 'a policy that names an SSH key covers the keys that replaced it',
    file: JUDGEMENT,
    text: '[WHOLE, use.key, ...(use.formerKeys ?? [])]',
    instead: '[WHOLE, use.key]',
    spec: JUDGEMENT_SPEC,
    test: 'a policy covers the successor of a key that it names',
  },
  {
    finding: 26,
    defence: 'a certificate of an unknown type is taken for no public key',
    file: 'src/formats/ssh/certificate-type.ts',
    text: '/-cert|^x509v3-|^pgp-sign-/i',
    instead: '/-cert-v01@openssh\\.com$/',
    spec: 'test/ssh-keys/certificate-types.spec.ts',
    test: 'in .pub files, and the error names it as a certificate',
  },
  {
    finding: 23,
    defence: 'a provenance names no repository of a list, of which a trust may have accepted another',
    file: 'src/signing/attestations/provenance-statement.ts',
    text: '  return others.length === 0 ? value : undefined;',
    instead: '  return others.length === 0 ? value : value;',
    spec: 'src/signing/attestations/provenance.spec.ts',
    test: 'names no repository if the token lists several',
  },
  {
    finding: 30,
    defence: 'two providers with the same issuer create one account for a subject',
    file: 'src/auth/sso/sign-in/sso-sign-in.service.ts',
    text: '    await this.assertNoTwin(tx, assertion);\n',
    instead: '',
    spec: 'test/auth/sso-defences.spec.ts',
    test: 'create one account for a subject',
  },
];
