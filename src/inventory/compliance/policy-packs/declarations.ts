import { hashId } from '../../model/asset-identity.js';
import type { Attestation, RequirementResult } from './attestation.entity.js';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../access/caller.js';
import { JsonSignaturesService } from '../../../signing/verification/json-signatures.service.js';
import { AttestationsService } from './attestations.service.js';

/** Name of the organization, which the schema requires. */
const ORGANIZATION = 'The operator of this inventory';

/**
 * declarationsOf converts an attestation to a CycloneDX 1.6 document with declarations and definitions (CycloneDX 1.6, Attestations). The policy pack becomes
 * a standard with requirements. Each requirement has a claim, with evidence and conformance.
 */
export function declarationsOf(attestation: Attestation): object {
  const { id, pack, results, createdAt, statement, reviewer, scope } = attestation;
  const target = { 'bom-ref': 'inventory', type: 'application', name: scope ?? 'Cryptographic inventory' };
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${hashId('attestation', id)}`,
    version: 1,
    metadata: {
      timestamp: createdAt.toISOString(),
      tools: { components: [{ type: 'application', name: 'Sealwright' }] },
    },
    definitions: { standards: [standardOf(attestation)] },
    declarations: {
      assessors: [{ 'bom-ref': 'assessor', thirdParty: false, organization: { name: ORGANIZATION } }],
      attestations: [{ summary: statement, assessor: 'assessor', map: results.map(mapped) }],
      claims: results.map((result) => claimOf(result, pack.requirements)),
      evidence: evidenceOf(attestation),
      targets: { components: [target] },
      affirmation: {
        statement,
        signatories: [
          {
            name: reviewer,
            organization: { name: ORGANIZATION },
            externalReference: { type: 'attestation', url: `urn:uuid:${id}` },
          },
        ],
      },
    },
  };
}

function standardOf({ pack }: Attestation): object {
  return {
    'bom-ref': `standard-${pack.id}`,
    name: pack.name,
    version: pack.version,
    description: pack.description,
    owner: pack.owner,
    requirements: pack.requirements.map(({ identifier, text }) => ({
      'bom-ref': requirementRef(identifier),
      identifier,
      text,
    })),
  };
}

function mapped({ identifier, score, rationale, violations }: RequirementResult): object {
  return {
    requirement: requirementRef(identifier),
    [violations > 0 ? 'counterClaims' : 'claims']: [claimRef(identifier)],
    conformance: { score: score ?? 0, rationale },
    confidence: { score: 1, rationale: 'Counted over the inventory, or assessed by the reviewer.' },
  };
}

function claimOf(
  { identifier, rationale, violations }: RequirementResult,
  requirements: Attestation['pack']['requirements'],
): object {
  const text = requirements.find((one) => one.identifier === identifier)?.text ?? identifier;
  const proofs = [evidenceRef(identifier), 'evidence-given'];
  return {
    'bom-ref': claimRef(identifier),
    target: 'inventory',
    predicate: text,
    reasoning: rationale,
    ...(violations > 0 ? { counterEvidence: proofs.slice(0, 1) } : { evidence: proofs }),
  };
}

function evidenceOf({ results, evidence, createdAt, expiresAt, reviewer, asOf }: Attestation): object[] {
  const created = createdAt.toISOString();
  const expires = expiresAt.toISOString();
  const by = { created, expires, author: { name: 'Sealwright' }, reviewer: { name: reviewer } };
  const counted = results.map(({ identifier, rationale, examples }) => ({
    'bom-ref': evidenceRef(identifier),
    propertyName: `sealwright:policy:${identifier}`,
    description: `${rationale} As of ${asOf}.`,
    ...(examples.length === 0
      ? {}
      : { data: [{ name: 'assets', contents: { attachment: { content: examples.join(' ') } } }] }),
    ...by,
  }));
  const given = {
    'bom-ref': 'evidence-given',
    propertyName: 'sealwright:evidence',
    description: evidence
      .map(({ description, url }) => `${description}${url === undefined ? '' : ` (${url})`}`)
      .join('; '),
    ...by,
  };
  return [...counted, given];
}

const requirementRef = (identifier: string) => `requirement-${identifier}`;
const claimRef = (identifier: string) => `claim-${identifier}`;
const evidenceRef = (identifier: string) => `evidence-${identifier}`;

/** SignedDeclarations exports attestations as CycloneDX documents with an embedded signature. */
@Injectable()
export class SignedDeclarations {
  constructor(
    private readonly attestations: AttestationsService,
    private readonly signatures: JsonSignaturesService,
  ) {}

  /** @throws Problem `attestation.missing`, or a problem of signing */
  async of(caller: Caller, id: string, key: string): Promise<object> {
    const document = declarationsOf(await this.attestations.find(id));
    const signer = await this.signatures.signer(caller, key, { filename: `attestation-${id}.cdx.json` });
    return signer.signed(document);
  }
}
