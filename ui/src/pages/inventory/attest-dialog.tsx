import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { listPolicyPacksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { attest } from '../../api/generated/sdk.gen.js';
import type { AttestBody, PolicyPackView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { type Field, textOf, type Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const SCORES = ['1', '0.5', '0'] as const;
const reviewsOf = (pack: string) => `reviews ${pack}`;

/** bodyOf returns the request body with the assessments of the selected pack. */
function bodyOf({ pack, scope, statement, evidence, ...rest }: Values): AttestBody {
  return { pack, scope, statement, evidence, reviews: rest[reviewsOf(textOf(pack))] } as never;
}

/** AttestDialog creates an attestation. Requirements without a query are assessed here. */
export function AttestDialog({ pack, onClose }: { pack?: string; onClose: () => void }) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const packs = useQuery(listPolicyPacksOptions());
  const review = useReview();
  const action = useAction((values: Values, once) => attest({ body: bodyOf(values), headers: once }), {
    changes: ['listAttestations'],
    done: t('saved'),
    onDone: ({ id }) => void navigate({ to: `/attestations/${id}` }),
  });
  if (packs.data === undefined) return null;
  const { items } = packs.data;
  return (
    <FormDialog
      title={t('attestations.create')}
      lead={t('attestations.create.lead')}
      submit={t('attestations.create')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'pack',
          kind: 'choice',
          label: t('attestations.pack'),
          isRequired: true,
          options: items.map(({ id, name }) => ({ value: id, label: name })),
          ...(pack === undefined ? {} : { value: pack }),
        },
        { name: 'scope', label: t('attestations.scope'), hint: t('attestations.scope.hint') },
        ...items.flatMap(review),
        { name: 'statement', kind: 'area', label: t('attestations.statement'), isRequired: true },
        {
          name: 'evidence',
          kind: 'rows',
          label: t('attestations.evidence'),
          add: t('attestations.evidence.add'),
          columns: [
            { name: 'description', label: t('attestations.evidence.what') },
            { name: 'url', label: t('attestations.evidence.where'), placeholder: 'https://', isOptional: true },
          ],
        },
      ]}
    />
  );
}

/** useReview returns one row for each requirement of a pack that must be assessed manually. */
function useReview(): (pack: PolicyPackView) => readonly Field[] {
  const { t, named } = useI18n();
  return ({ id, requirements }) => {
    const judged = requirements.filter(({ check }) => check === 'review');
    if (judged.length === 0) return [];
    return [
      {
        name: reviewsOf(id),
        kind: 'rows',
        label: t('attestations.reviews'),
        hint: judged.map(({ identifier, text }) => `${identifier}: ${text}`).join(' · '),
        add: t('attestations.reviews.add'),
        when: ({ pack }) => pack === id,
        value: judged.map(({ identifier }) => ({ identifier, score: SCORES[0], rationale: '' })),
        columns: [
          {
            name: 'identifier',
            label: t('attestations.requirement'),
            options: judged.map(({ identifier }) => ({ value: identifier, label: identifier })),
          },
          {
            name: 'score',
            label: t('attestations.score'),
            kind: 'number',
            options: SCORES.map((score) => ({ value: score, label: named('reviewScore', score) })),
          },
          { name: 'rationale', label: t('attestations.rationale') },
        ],
      },
    ];
  };
}
