import type { EvaluationView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { dayText } from '../../patterns/moment.js';

type Result = EvaluationView['results'][number];

/** Share formats a share from 0 to 1 as a percentage. */
export function Share({ value }: { value: number | null }) {
  const { language } = useI18n();
  return value === null ? '–' : value.toLocaleString(language, { style: 'percent', maximumFractionDigits: 0 });
}

/** RequirementResults shows the result of each requirement. */
export function RequirementResults({ of: { pack, results } }: { of: Pick<EvaluationView, 'pack' | 'results'> }) {
  const { t, named } = useI18n();
  const requirements = new Map(pack.requirements.map((one) => [one.identifier, one]));
  const isCounted = ({ identifier }: Result) => (requirements.get(identifier)?.check ?? 'review') !== 'review';
  return (
    <DataTable<Result>
      name={t('attestations.results')}
      rows={results}
      rowKey={({ identifier }) => identifier}
      empty={null}
      columns={[
        { name: t('id'), cell: ({ identifier }) => <span className="sw-mono sw-nowrap">{identifier}</span> },
        {
          name: t('attestations.requirement'),
          width: 35,
          cell: ({ identifier }) => {
            const { text, check = 'review', q } = requirements.get(identifier) ?? {};
            return (
              <>
                {text ?? '–'}
                <div className="sw-muted">{q === undefined ? named('policyCheck', check) : <code>{q}</code>}</div>
              </>
            );
          },
        },
        { name: t('attestations.score'), cell: ({ score }) => <Share value={score} /> },
        { name: t('nav.assets'), cell: ({ assets }) => assets },
        {
          name: t('attestations.violations'),
          cell: (result) => <Violations result={result} q={requirements.get(result.identifier)?.q} />,
        },
        {
          name: t('attestations.rationale'),
          width: 25,
          cell: (result) => <Why result={result} isCounted={isCounted(result)} />,
        },
      ]}
    />
  );
}

/** Why shows the rationale of the reviewer, or the number of temporarily accepted assets. */
function Why({ result: { rationale, acceptedUntil }, isCounted }: { result: Result; isCounted: boolean }) {
  const { t, language } = useI18n();
  if (!isCounted) return rationale;
  if (acceptedUntil === undefined) return '–';
  const { assets: count, first } = acceptedUntil;
  return t('attestations.acceptedUntil', { count, day: dayText(first, language) });
}

/** Violations links to the violating assets if the requirement has a query, otherwise to one example. */
function Violations({ result: { violations, examples }, q }: { result: Result; q: string | undefined }) {
  const { t } = useI18n();
  const [example] = examples;
  if (violations === 0 || (q === undefined && example === undefined)) return violations;
  if (q !== undefined) return <Go to={`/assets?q=${encodeURIComponent(q)}`}>{violations}</Go>;
  return (
    <>
      {violations} <Go to={`/assets/${example}`}>{t('attestations.example')}</Go>
    </>
  );
}
