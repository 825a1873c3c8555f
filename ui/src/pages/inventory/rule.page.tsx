import { Button, Card, CardBody, CardTitle, CodeBlock, CodeBlockCode, Stack, StackItem } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listRiskRulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { RuleView } from '../../api/generated/types.gen.js';
import { NotFound } from '../../app/not-found.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Facts } from '../../patterns/facts.js';
import { Go } from '../../patterns/go.js';
import { LevelLabel } from '../../patterns/labels.js';
import { Day } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { Reassessment } from './reassessment.js';
import { RuleChange } from './rule-change.js';
import { Sources } from './sources.js';
import { inOrder, readable } from './readable.js';
import { SourceLink } from './source-link.js';

/** RulePage shows the conditions, verdict, sources and deadlines of a rule. */
export function RulePage() {
  const { t } = useI18n();
  const id = useResourceId();
  const { one } = useUrlState();
  const query = useQuery({
    ...listRiskRulesOptions(),
    select: ({ items, version }) => ({ version, rule: items.find((item) => item.id === id) }),
  });
  const judging = one('judging');
  // A removed rule keeps its page until all assets have been reassessed.
  if (query.isSuccess && query.data.rule === undefined && judging === undefined) return <NotFound />;
  return (
    <ResourcePage
      query={query}
      kind={id}
      parent={{ to: '/rules', name: t('nav.rules') }}
      title={() => id}
      lead={({ rule }) => rule?.reason}
      badge={({ rule }) => rule && <LevelLabel level={rule.level} />}
      actions={({ rule, version }) => rule && <Actions rule={rule} version={version} />}
    >
      {({ rule }) => (
        <Stack hasGutter>
          {judging !== undefined && (
            <StackItem>
              <Reassessment version={Number(judging)} />
            </StackItem>
          )}
          {rule !== undefined && <Details rule={rule} />}
        </Stack>
      )}
    </ResourcePage>
  );
}

function Actions({ rule, version }: { rule: RuleView; version: number }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [change, setChange] = useState<'put' | 'remove'>();
  if (!may('inventory:write')) return null;
  return (
    <>
      <Button onClick={() => setChange('put')}>{t('rules.change')}</Button>
      <Button variant="secondary" isDanger onClick={() => setChange('remove')}>
        {t('rules.remove')}
      </Button>
      {change !== undefined && (
        <RuleChange kind={change} rule={rule} version={version} onClose={() => setChange(undefined)} />
      )}
    </>
  );
}

function Details({ rule }: { rule: RuleView }) {
  const { t, named } = useI18n();
  const { id, axis, status, match, standards, deadlines, target, verified } = rule;
  return (
    <>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('finding.axis'), named('axis', axis)],
                [t('finding.status'), readable(status)],
                [t('finding.target'), target],
                [t('finding.standards'), standards.length > 0 && <Sources key="s" standards={standards} most={10} />],
                [t('rules.verified'), t(verified ? 'yes' : 'no')],
                [
                  t('rules.applies'),
                  <Go key="a" to={`/assets?rule=${encodeURIComponent(id)}`}>
                    {t('rules.assets')}
                  </Go>,
                ],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('rules.match')}</CardTitle>
          <CardBody>
            <CodeBlock>
              <CodeBlockCode>{linesOf(match)}</CodeBlockCode>
            </CodeBlock>
          </CardBody>
        </Card>
      </StackItem>
      {deadlines.length > 0 && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('finding.deadlines')}</CardTitle>
            <CardBody>
              <Deadlines deadlines={deadlines} />
            </CardBody>
          </Card>
        </StackItem>
      )}
    </>
  );
}

/** linesOf returns one line for each condition. */
function linesOf(match: RuleView['match']): string {
  return Object.entries(match)
    .map(([fact, wanted]) => `${fact}: ${JSON.stringify(wanted)}`)
    .join('\n');
}

function Deadlines({ deadlines }: Pick<RuleView, 'deadlines'>) {
  const { t } = useI18n();
  return (
    <Table variant="compact" aria-label={t('finding.deadlines')}>
      <Thead>
        <Tr>
          <Th>{t('rules.deadline.date')}</Th>
          <Th>{t('rules.deadline.state')}</Th>
          <Th>{t('rules.deadline.authority')}</Th>
          <Th>{t('rules.deadline.jurisdiction')}</Th>
          <Th>{t('rules.deadline.binding')}</Th>
          <Th>{t('rules.deadline.draft')}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {inOrder(deadlines).map(({ date, state, jurisdiction, binding, draft, ...source }) => (
          <Tr key={`${date} ${state} ${source.authority} ${source.provision}`}>
            <Td dataLabel={t('rules.deadline.date')}>
              <Day at={date} />
            </Td>
            <Td dataLabel={t('rules.deadline.state')}>{readable(state)}</Td>
            <Td dataLabel={t('rules.deadline.authority')}>
              <SourceLink {...source} />
            </Td>
            <Td dataLabel={t('rules.deadline.jurisdiction')}>{jurisdiction}</Td>
            <Td dataLabel={t('rules.deadline.binding')}>{t(binding ? 'yes' : 'no')}</Td>
            <Td dataLabel={t('rules.deadline.draft')}>{t(draft ? 'yes' : 'no')}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
