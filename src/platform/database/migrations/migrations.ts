import type { MigrationInterface } from 'typeorm';
import { AuditEntriesByCall1798000043600 } from './1798000043600-audit-entries-by-call.js';
import { FirstSchema1763600000000 } from './1763600000000-first-schema.js';
import { SignIn1795177509268 } from './1795177509268-sign-in.js';
import { People1795178678364 } from './1795178678364-people.js';
import { ApiKeyRenewal1795178996403 } from './1795178996403-api-key-renewal.js';
import { SingleSignOn1795179634002 } from './1795179634002-single-sign-on.js';
import { SshKeys1795180500001 } from './1795180500001-ssh-keys.js';
import { Discovery1795185711114 } from './1795185711114-discovery.js';
import { Hosts1795185632066 } from './1795185632066-hosts.js';
import { SshRotation1795195000001 } from './1795195000001-ssh-rotation.js';
import { SshAuthorities1795196000001 } from './1795196000001-ssh-authorities.js';
import { Inventory1763640000000 } from './1763640000000-inventory.js';
import { InventoryStorage1796400000000 } from './1796400000000-inventory-storage.js';
import { InventoryOverTime1796400000001 } from './1796400000001-inventory-over-time.js';
import { InventoryOrder1796600000000 } from './1796600000000-inventory-order.js';
import { OneRowPerEdge1796600000001 } from './1796600000001-one-row-per-edge.js';
import { AssetFacts1796600000002 } from './1796600000002-asset-facts.js';
import { FactsOfVerdicts1796600000003 } from './1796600000003-facts-of-verdicts.js';
import { ChangedPolicyPacks1796600000004 } from './1796600000004-changed-policy-packs.js';
import { InventoryImports1796400000002 } from './1796400000002-inventory-imports.js';
import { Attestations1796400000003 } from './1796400000003-attestations.js';
import { BomLinks1796400000004 } from './1796400000004-bom-links.js';
import { KeyLifeAndFormats1795177554432 } from './1795177554432-key-life-and-formats.js';
import { Handover1795185294998 } from './1795185294998-handover.js';
import { AssetAnnotations1795187524785 } from './1795187524785-asset-annotations.js';
import { Rules1795190079085 } from './1795190079085-rules.js';
import { Timestamps1795178831171 } from './1795178831171-timestamps.js';
import { Approvals1795185657702 } from './1795185657702-approvals.js';
import { ApprovalNotices1795188086656 } from './1795188086656-approval-notices.js';
import { Log1795183200000 } from './1795183200000-log.js';
import { BrowserSessions1795310000000 } from './1795310000000-browser-sessions.js';
import { KeyConstraints1795185203841 } from './1795185203841-key-constraints.js';
import { Passkeys1795310000001 } from './1795310000001-passkeys.js';
import { SignOutAtProviders1795310000002 } from './1795310000002-sign-out-at-providers.js';
import { Webhooks1795190100001 } from './1795190100001-webhooks.js';
import { Alerts1795190100002 } from './1795190100002-alerts.js';
import { SigningBatches1795195400001 } from './1795195400001-signing-batches.js';
import { SealedKeys1795400000001 } from './1795400000001-sealed-keys.js';
import { BatchApprovals1796300000000 } from './1796300000000-batch-approvals.js';
import { AuditSearch1796300000001 } from './1796300000001-audit-search.js';
import { IssuedCertificates1796700000001 } from './1796700000001-issued-certificates.js';
import { PolicyScopes1796800000000 } from './1796800000000-policy-scopes.js';
import { EveryKeyInUse1796900000000 } from './1796900000000-every-key-in-use.js';
import { SignedDigests1797000000000 } from './1797000000000-signed-digests.js';
import { AssetsByVerdict1797100000000 } from './1797100000000-assets-by-verdict.js';
import { SshCertificateApprovals1797200000080 } from './1797200000080-ssh-certificate-approvals.js';
import { OwnNames1798000040100 } from './1798000040100-own-names.js';
import { ClaimsOfHosts1797200000010 } from './1797200000010-claims-of-hosts.js';
import { SourceOwners1797200000060 } from './1797200000060-source-owners.js';
import { RightsThatEnd1797200000000 } from './1797200000000-rights-that-end.js';
import { SealFormat1798000039500 } from './1798000039500-seal-format.js';
import { ChangedRotationPolicies1796700000000 } from './1796700000000-changed-rotation-policies.js';
import { RotationPolicies1796500000003 } from './1796500000003-rotation-policies.js';
import { HostAuthorities1796500000002 } from './1796500000002-host-authorities.js';
import { RotationApprovals1796500000001 } from './1796500000001-rotation-approvals.js';
import { ScanRuns1796500000000 } from './1796500000000-scan-runs.js';
import { KeyDestruction1796200000000 } from './1796200000000-key-destruction.js';
import { Sensors1795190100003 } from './1795190100003-sensors.js';
import { SamlLogout1796100000000 } from './1796100000000-saml-logout.js';
import { StepUpAtProviders1796100000001 } from './1796100000001-step-up-at-providers.js';
import { SealedEntries1797200000030 } from './1797200000030-sealed-entries.js';
import { ServiceInstances1798000039100 } from './1798000039100-service-instances.js';
import { JobLeases1798000039101 } from './1798000039101-job-leases.js';
import { AuditStreams1798000039300 } from './1798000039300-audit-streams.js';
import { TraceParents1798000039301 } from './1798000039301-trace-parents.js';
import { FailedRequests1798000039102 } from './1798000039102-failed-requests.js';
import { ExpiringKeys1798000039103 } from './1798000039103-expiring-keys.js';
import { AssetLabels1798000039200 } from './1798000039200-asset-labels.js';
import { ListsByIndex1798000039201 } from './1798000039201-lists-by-index.js';
import { ReadingEditions1798000040200 } from './1798000040200-reading-editions.js';
import { OpenPgpStatements1798000041500 } from './1798000041500-openpgp-statements.js';
import { WorkloadIdentity1798000042100 } from './1798000042100-workload-identity.js';
import { QueuesByIndex1798000042500 } from './1798000042500-queues-by-index.js';
import { FoundByWhoseTheyAre1798000042600 } from './1798000042600-found-by-whose-they-are.js';
import { BeginningsOfPlacesWhenLarge1798000042700 } from './1798000042700-beginnings-of-places-when-large.js';
import { RowSeals1798000043000 } from './1798000043000-row-seals.js';
import { FoundByPerson1798000043301 } from './1798000043301-found-by-person.js';
import { IdentityProviderVersion1798000043300 } from './1798000043300-identity-provider-version.js';
import { RoomForMarks1798000042800 } from './1798000042800-room-for-marks.js';
import { NamesBySource1798000043500 } from './1798000043500-names-by-source.js';
import { DeadlinesByAuthority1798000043501 } from './1798000043501-deadlines-by-authority.js';
import { ChangedHostKeys1798000043700 } from './1798000043700-changed-host-keys.js';
import { RotationOverlapChecks1798000043701 } from './1798000043701-rotation-overlap-checks.js';
import { HostsThatScansMiss1798000043702 } from './1798000043702-hosts-that-scans-miss.js';
import { SealedSigningKeys1798000044000 } from './1798000044000-sealed-signing-keys.js';
import { RightsHistory1798000044100 } from './1798000044100-rights-history.js';
import { DescribersOfAssets1798000044900 } from './1798000044900-describers-of-assets.js';
import { EndsAtProviders1798000048200 } from './1798000048200-ends-at-providers.js';
import { PeopleBehindMembers1798000048300 } from './1798000048300-people-behind-members.js';
import { EditorsOfTrusts1798000048400 } from './1798000048400-editors-of-trusts.js';
import { PeopleBehindCredentials1798000046000 } from './1798000046000-people-behind-credentials.js';
import { FloorsOfDescriptions1798000046100 } from './1798000046100-floors-of-descriptions.js';
import { SourcesByOwner1798000046200 } from './1798000046200-sources-by-owner.js';
import { SshHostRenewals1798000042300 } from './1798000042300-ssh-host-renewals.js';
import { ClientCertificates1798000042400 } from './1798000042400-client-certificates.js';
import { SshLoginRules1798000042101 } from './1798000042101-ssh-login-rules.js';
import { ClientKeys1798000042200 } from './1798000042200-client-keys.js';
import { BoundTokens1798000042201 } from './1798000042201-bound-tokens.js';
import { CertificateBoundTokens1798000042202 } from './1798000042202-certificate-bound-tokens.js';
import { RestoredDatabase1798000039400 } from './1798000039400-restored-database.js';
import { TurnsOfImports1798000043201 } from './1798000043201-turns-of-imports.js';
import { BackgroundJobsOfInstances1798000047000 } from './1798000047000-background-jobs-of-instances.js';
import { ReplacedSshKeys1798000043100 } from './1798000043100-replaced-ssh-keys.js';
import { OpenApprovalsByCaller1798000043200 } from './1798000043200-open-approvals-by-caller.js';

/** Every migration, oldest first. */

export const MIGRATIONS: (new () => MigrationInterface)[] = [
  FirstSchema1763600000000,
  SignIn1795177509268,
  People1795178678364,
  ApiKeyRenewal1795178996403,
  SingleSignOn1795179634002,
  Inventory1763640000000,
  KeyLifeAndFormats1795177554432,
  Timestamps1795178831171,
  Hosts1795185632066,
  Discovery1795185711114,
  Log1795183200000,
  BrowserSessions1795310000000,
  Passkeys1795310000001,
  SignOutAtProviders1795310000002,
  Handover1795185294998,
  AssetAnnotations1795187524785,
  KeyConstraints1795185203841,
  SshKeys1795180500001,
  Webhooks1795190100001,
  Alerts1795190100002,
  Sensors1795190100003,
  Approvals1795185657702,
  SshRotation1795195000001,
  SshAuthorities1795196000001,
  ApprovalNotices1795188086656,
  SigningBatches1795195400001,
  SealedKeys1795400000001,
  Rules1795190079085,
  SamlLogout1796100000000,
  StepUpAtProviders1796100000001,
  BatchApprovals1796300000000,
  AuditSearch1796300000001,
  KeyDestruction1796200000000,
  InventoryStorage1796400000000,
  InventoryOverTime1796400000001,
  InventoryImports1796400000002,
  Attestations1796400000003,
  BomLinks1796400000004,
  ScanRuns1796500000000,
  RotationApprovals1796500000001,
  HostAuthorities1796500000002,
  RotationPolicies1796500000003,
  InventoryOrder1796600000000,
  OneRowPerEdge1796600000001,
  AssetFacts1796600000002,
  FactsOfVerdicts1796600000003,
  ChangedPolicyPacks1796600000004,
  ChangedRotationPolicies1796700000000,
  IssuedCertificates1796700000001,
  PolicyScopes1796800000000,
  EveryKeyInUse1796900000000,
  SignedDigests1797000000000,
  AssetsByVerdict1797100000000,
  SshCertificateApprovals1797200000080,
  SealedEntries1797200000030,
  ClaimsOfHosts1797200000010,
  SourceOwners1797200000060,
  RightsThatEnd1797200000000,
  OwnNames1798000040100,
  ReadingEditions1798000040200,
  ServiceInstances1798000039100,
  JobLeases1798000039101,
  FailedRequests1798000039102,
  SealFormat1798000039500,
  ExpiringKeys1798000039103,
  AssetLabels1798000039200,
  ListsByIndex1798000039201,
  OpenPgpStatements1798000041500,
  WorkloadIdentity1798000042100,
  SshLoginRules1798000042101,
  ClientKeys1798000042200,
  BoundTokens1798000042201,
  CertificateBoundTokens1798000042202,
  RestoredDatabase1798000039400,
  AuditStreams1798000039300,
  TraceParents1798000039301,
  SshHostRenewals1798000042300,
  ClientCertificates1798000042400,
  QueuesByIndex1798000042500,
  FoundByWhoseTheyAre1798000042600,
  BeginningsOfPlacesWhenLarge1798000042700,
  RoomForMarks1798000042800,
  NamesBySource1798000043500,
  DeadlinesByAuthority1798000043501,
  ReplacedSshKeys1798000043100,
  RowSeals1798000043000,
  OpenApprovalsByCaller1798000043200,
  TurnsOfImports1798000043201,
  ChangedHostKeys1798000043700,
  RotationOverlapChecks1798000043701,
  HostsThatScansMiss1798000043702,
  IdentityProviderVersion1798000043300,
  FoundByPerson1798000043301,
  AuditEntriesByCall1798000043600,
  SealedSigningKeys1798000044000,
  RightsHistory1798000044100,
  DescribersOfAssets1798000044900,
  PeopleBehindCredentials1798000046000,
  FloorsOfDescriptions1798000046100,
  SourcesByOwner1798000046200,
  BackgroundJobsOfInstances1798000047000,
  EndsAtProviders1798000048200,
  PeopleBehindMembers1798000048300,
  EditorsOfTrusts1798000048400,
];
