import { Card, CardBody, CardTitle, List, ListItem, Stack, StackItem } from '@patternfly/react-core';
import type { AssetDetailView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Facts } from '../../patterns/facts.js';
import { Go } from '../../patterns/go.js';
import { type Level, LevelLabel } from '../../patterns/labels.js';
import { Day } from '../../patterns/moment.js';
import { Sources } from './sources.js';
import { inOrder, readable } from './readable.js';

/** A matching rule, as reported by the risk engine. */
interface Finding {
  readonly rule?: string;
  readonly id?: string;
  readonly axis?: string;
  readonly level?: Level;
  readonly status?: string;
  readonly reason?: string;
  readonly standards?: readonly string[];
  readonly target?: string | null;
  readonly deadlines?: readonly {
    readonly date: string;
    readonly state: string;
    readonly authority: string;
    readonly jurisdiction: string;
  }[];
}

/** Matching rules of an asset with reason, sources and deadlines. */
export function Findings({ asset }: { asset: AssetDetailView }) {
  const { t } = useI18n();
  const findings = asset.findings as readonly Finding[];
  return (
    <Stack hasGutter>
      {findings.length === 0 && <StackItem className="sw-muted">{t('finding.none')}</StackItem>}
      {findings.map((finding, index) => (
        <StackItem key={finding.rule ?? finding.id ?? index}>
          <FindingCard finding={finding} />
        </StackItem>
      ))}
      {asset.resolvedBy.length > 0 && (
        <StackItem>
          <Card isCompact>
            <CardTitle component="h3">{t('finding.resolvedBy')}</CardTitle>
            <CardBody>
              <List>
                {asset.resolvedBy.map(({ via, assetId }, index) => (
                  <ListItem key={`${via} ${assetId ?? index}`}>
                    {via} {assetId !== undefined && <Go to={`/assets/${assetId}`}>{assetId}</Go>}
                  </ListItem>
                ))}
              </List>
            </CardBody>
          </Card>
        </StackItem>
      )}
    </Stack>
  );
}

function FindingCard({ finding }: { finding: Finding }) {
  const { t, named } = useI18n();
  const { level, reason, axis, status, standards = [], deadlines = [], target } = finding;
  return (
    <Card isCompact>
      <CardTitle component="h3">
        <LevelLabel level={level} /> <span className="sw-mono">{finding.rule ?? finding.id}</span>
      </CardTitle>
      <CardBody>
        <p className="sw-reason">{reason}</p>
        <Facts
          facts={[
            [t('finding.axis'), axis && named('axis', axis)],
            [t('finding.status'), status && readable(status)],
            [t('finding.target'), target],
            [t('finding.standards'), standards.length > 0 && <Sources key="s" standards={standards} most={6} />],
            [
              t('finding.deadlines'),
              deadlines.length > 0 && (
                <List key="d" isPlain>
                  {inOrder(deadlines).map(({ date, state, authority, jurisdiction }) => (
                    <ListItem key={`${date} ${authority} ${state}`}>
                      <strong>
                        <Day at={date} />
                      </strong>{' '}
                      {readable(state)} <span className="sw-muted">{`${authority} (${jurisdiction})`}</span>
                    </ListItem>
                  ))}
                </List>
              ),
            ],
          ].filter((fact): fact is [string, string] => fact[1] !== false)}
        />
      </CardBody>
    </Card>
  );
}
