mod bounds;
mod calls;
mod invariants;
mod lifetime;
mod loss;
mod redelivery;
mod registering;
mod script;
