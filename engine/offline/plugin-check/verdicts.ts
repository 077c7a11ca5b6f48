// What came out of the rules, in the order they were tried.
export type Outcome = 'kept' | 'broken' | 'not-asked';

export interface RuleResult {
  /** `stage-1.first-request`, stable; the sentence is for people. */
  readonly rule: string;
  readonly says: string;
  readonly outcome: Outcome;
  /** Why it is broken, or why it was not asked. */
  readonly detail: string;
}

export class Verdicts {
  readonly results: RuleResult[] = [];
  readonly #heard: (result: RuleResult) => void;

  /** `heard` gets each result as it comes. */
  constructor(heard: (result: RuleResult) => void) {
    this.#heard = heard;
  }

  kept(rule: string, says: string): void {
    this.#add({ rule, says, outcome: 'kept', detail: '' });
  }

  broken(rule: string, says: string, detail: string): void {
    this.#add({ rule, says, outcome: 'broken', detail });
  }

  notAsked(rule: string, says: string, detail: string): void {
    this.#add({ rule, says, outcome: 'not-asked', detail });
  }

  /** `fault`: undefined = kept. */
  judge(rule: string, says: string, fault: string | undefined): boolean {
    if (fault === undefined) this.kept(rule, says);
    else this.broken(rule, says, fault);
    return fault === undefined;
  }

  count(outcome: Outcome): number {
    return this.results.filter((result) => result.outcome === outcome).length;
  }

  #add(result: RuleResult): void {
    this.results.push(result);
    this.#heard(result);
  }
}
