export interface Person {
  name: string;
  age?: number;
}

export const older = (p: Person): Person => ({ ...p, age: (p.age ?? 0) + 1 });
